package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/chaos"
	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/wasmhost"
)

var (
	requests = flag.Int("requests", 100_000, "how many requests to play in all")
	seed     = flag.Uint64("seed", 1, "the first seed; each run takes the next")
)

// perRun is how many requests go through one drawn configuration.
const perRun = 5000

// TestOnlyTheSlowHostIsEverBlocked plays runs with one slow host and runs with none, in turn.
// `go test ./internal/chaos -requests 1000000` plays more of them; -seed and -requests 5000
// play one again.
func TestOnlyTheSlowHostIsEverBlocked(t *testing.T) {
	module := compile(t, plugintest.Wasm(t))
	total := *requests
	if testing.Short() {
		total = min(total, 4*perRun)
	}
	runs := max(1, total/perRun)
	played := make([]map[string]int, runs)
	t.Run("runs", func(t *testing.T) {
		for i := range runs {
			s := *seed + uint64(i)
			t.Run(fmt.Sprintf("seed %d", s), func(t *testing.T) {
				t.Parallel()
				result := play(t, module, s, perRun)
				played[i] = result.Played
				assert.Empty(t, result.Mistakes(), "seed %d: %s", s, result.Setup)
			})
		}
	})
	sum := map[string]int{}
	for _, situations := range played {
		for what, n := range situations {
			sum[what] += n
		}
	}
	for _, what := range situations() {
		t.Logf("%6d x %s", sum[what], what)
		if runs >= 20 {
			assert.Greater(t, sum[what], 10, what)
		}
	}
	assert.Subset(t, situations(), slices.Collect(maps.Keys(sum)))
}

// situations are what a hundred thousand requests must bring up.
func situations() []string {
	return []string{
		"a client that leaves just before the threshold",
		"a client that leaves past the threshold",
		"a client that reads slowly",
		"a hedge",
		"a hedge that the first attempt wins",
		"a late answer of a healthy host that a hedge went to",
		"a late answer of a healthy host that a retry went to",
		"a late answer of the slow host",
		"a new configuration",
		"a reply of a filter past the threshold",
		"a timeout of the route while a healthy host has a retry",
		"a timeout soon after a slow upload",
		"an answer before the request's end",
		"an internal redirect",
		"an upload longer than the threshold",
	}
}

// slow says that every other run has a slow host.
func slow(seed uint64) bool { return seed%2 == 1 }

func play(t *testing.T, module *wasmhost.Module, seed uint64, requests int) chaos.Result {
	t.Helper()
	result, err := chaos.Run(t.Context(), chaos.Options{Module: module, Seed: seed, Requests: requests, Slow: slow(seed)})
	require.NoError(t, err)
	t.Logf("seed %d: slow %q, %d blocks in %s; %s", seed, result.Slow, len(result.Blocks), result.Length, result.Setup)
	return result
}

func compile(t *testing.T, wasm []byte) *wasmhost.Module {
	t.Helper()
	module, err := wasmhost.Compile(t.Context(), wasm, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close(context.WithoutCancel(t.Context()))) })
	return module
}

func TestTheSameSeedPlaysTheSame(t *testing.T) {
	module := compile(t, plugintest.Wasm(t))
	assert.Equal(t, play(t, module, 3, 1000), play(t, module, 3, 1000))
}
