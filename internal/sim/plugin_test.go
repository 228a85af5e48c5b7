package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

// play runs a scenario with its own seed.
func play(t *testing.T, s *sim.Scenario, workers int) *sim.Result {
	t.Helper()
	result, err := sim.Run(t.Context(), s, sim.Options{Wasm: plugintest.Wasm(t), Workers: workers, Seed: s.Seed})
	require.NoError(t, err)
	return result
}

// requirePassed shows the expectations that did not hold.
func requirePassed(t *testing.T, result *sim.Result) {
	t.Helper()
	for _, verdict := range result.Verdicts() {
		if !verdict.OK {
			t.Errorf("%s: %s", result.Title(), verdict)
		}
	}
}
