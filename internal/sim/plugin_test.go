package sim_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/sim"
)

// shippedPlugin reads the product's binary. Without it the tests are skipped,
// but not in CI, where it has to be there.
func shippedPlugin(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile("../../dist/endpoint-breaker.wasm")
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("make build first")
	}
	require.NoError(t, err)
	return wasm
}

// play runs a scenario with its own seed.
func play(t *testing.T, s *sim.Scenario, workers int) *sim.Result {
	t.Helper()
	result, err := sim.Run(t.Context(), s, sim.Options{Wasm: shippedPlugin(t), Workers: workers, Seed: s.Seed})
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
