package chaos_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/chaos"
	"endpoint-breaker/internal/plugintest"
)

// spoils are ways to be unfair. The traffic is worth what it notices.
func spoils() map[string][]plugintest.Edit {
	return map[string][]plugintest.Edit{
		"whoever is there when the answer is late is blamed, whatever the attempts": {
			{File: "attempts.go", Old: "case a.number <= 1:", New: `case a.endpoint != "":`},
		},
		"the clock starts at the request's headers": {
			{File: "stream.go", Old: "\tif endOfStream {\n\t\ts.plugin.onComplete(&s.request, now)\n\t}\n\treturn action", New: "\ts.plugin.onComplete(&s.request, now)\n\treturn action"},
		},
		"a client that leaves is a sample": {
			{File: "callbacks.go", Old: "case by == endedByClient && q.rule.countAbortsAfter > 0 && q.waited(now) >= q.rule.countAbortsAfter:", New: "case by == endedByClient:"},
		},
		"an answer before the request's end is measured": {
			{File: "inflight.go", Old: "case !q.timed(): // answered", New: "case !q.open(): // answered"},
		},
		"a stream is measured at its end": {
			{File: "stream.go", Old: "case !bytes && !ended:", New: "case !ended:"},
		},
		"a timeout is blamed on who had the request last": {
			{File: "callbacks.go", Old: "default:\n\t\tp.meters.cluster(metricSamplesUnattributed, cluster)\n\t\treturn\n\t}", New: "default:\n\t\ts = sample{started: q.chosen, reached: reached}\n\t}"},
		},
		"the body of an answer is part of the last attempt's time": {
			{File: "attempts.go", Old: "untilAnswer := took - ended.since(q.answered)", New: "untilAnswer := took"},
		},
		"a response stalls when it lasts": {
			{File: "stream.go", Old: "\t\t\ts.request.bytes(now)\n", New: ""},
		},
		"requests that time out after a long upload": {
			{File: "details.go", Old: `case "response_timeout"`, New: `case "response_timeout", "upstream_max_stream_duration_reached"`},
		},
	}
}

func TestASpoiledBreakerIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles the plugin nine times")
	}
	for name, edits := range spoils() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := compile(t, spoiled(t, edits))
			for seed := range uint64(20) {
				result, err := chaos.Run(t.Context(), chaos.Options{Module: module, Seed: seed + 1, Requests: perRun, Slow: slow(seed + 1)})
				require.NoError(t, err)
				if mistakes := result.Mistakes(); len(mistakes) > 0 {
					first, _, _ := strings.Cut(mistakes[0], "\n")
					t.Logf("seed %d: %s", seed+1, first)
					return
				}
			}
			t.Error("a hundred thousand requests, and nobody notices")
		})
	}
}

func spoiled(t *testing.T, edits []plugintest.Edit) []byte {
	t.Helper()
	wasm, err := os.ReadFile(plugintest.Spoiled(t, "", edits...))
	require.NoError(t, err)
	return wasm
}
