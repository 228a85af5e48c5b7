package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/sim"
)

// TestAHundredHoursOfConflictsLoseNothing plays the long run and prints its figures.
func TestAHundredHoursOfConflictsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute or two")
	}
	t.Parallel()
	scenario, err := sim.Load("../../scenarios/long/hundred-hours.yaml")
	require.NoError(t, err)
	require.Len(t, scenario.Workers, 1)
	result := play(t, scenario, scenario.Workers[0])
	t.Logf("%d requests, %d blocks, %d bypasses", len(result.Requests), len(result.Blocks), result.Metric("bypasses_enforced", ""))
	for _, verdict := range result.Verdicts() {
		t.Log(verdict)
	}
	requirePassed(t, result)
}
