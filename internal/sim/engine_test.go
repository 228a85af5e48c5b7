package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

// buildSpoiler builds the plugin in testdata/spoiler.
func buildSpoiler(t *testing.T) []byte {
	t.Helper()
	target := filepath.Join(t.TempDir(), "spoiler.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", target, "./testdata/spoiler")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	wasm, err := os.ReadFile(target)
	require.NoError(t, err)
	return wasm
}

func TestWhatThePluginKeepsFromEveryEndpointIsRefused(t *testing.T) {
	wasm := buildSpoiler(t)
	for _, c := range []struct {
		way, seen string
		status    int
		outcome   sim.Outcome
	}{
		{"reply", "20", 429, sim.Refused},
		{"hold", "0 refused, 20 held", 0, sim.Left},
		{"pass", "0", 200, sim.Answered},
	} {
		t.Run(c.way, func(t *testing.T) {
			result, err := sim.Run(t.Context(), spoiledScenario(t, c.way), sim.Options{Wasm: wasm, Workers: 1})
			require.NoError(t, err)
			require.Len(t, result.Requests, 20)
			assert.Equal(t, c.status, result.Requests[0].Status)
			assert.Equal(t, c.outcome, result.Requests[0].Outcome)
			assert.Equal(t, c.way == "pass", result.Verdicts()[0].OK)
			assert.Equal(t, c.seen, result.Verdicts()[0].Seen)
		})
	}
}

func spoiledScenario(t *testing.T, way string) *sim.Scenario {
	t.Helper()
	scenario, err := sim.Parse([]byte(`
name: spoiled
duration: 1m
clusters:
  - name: llm
    latency: 1s
    endpoints:
      - {name: A, address: 10.0.0.1:8000}
traffic:
  - {name: chat, rate: 1, to: 20s, leave_after: 30s}
expect:
  - refused: {at_most: 0}
`))
	require.NoError(t, err)
	scenario.Plugin, err = json.Marshal(way)
	require.NoError(t, err)
	return scenario
}

// endings is a scenario in which requests end in every way, one after the other,
// and the wall clock jumps in between.
const endings = `
name: endings
duration: 1m
plugin: pass
clusters:
  - name: llm
    endpoints:
      - name: A
        address: 10.0.0.1:8000
        latency: [{from: 0s, headers: 1s}, {from: 5s, hang: true}]
routes:
  - {name: patient, cluster: llm}
  - {name: short, cluster: llm, timeout: 10s}
traffic:
  - {name: answered, route: patient, burst: 1}
  - {name: times-out, route: short, from: 10s, burst: 1}
  - {name: leaves, route: patient, from: 25s, burst: 1, leave_after: 5s}
  - {name: nowhere, route: patient, from: 40s, burst: 1}
events:
  - {at: 28s, wall_jump: {by: 1h}}
  - {at: 35s, remove: {endpoints: [A]}}
`

func TestAStreamKnowsAtItsEndWhatEnvoyWouldTell(t *testing.T) {
	scenario, err := sim.Parse([]byte(endings))
	require.NoError(t, err)
	log := spoilerLog(t, scenario, 1)
	for _, line := range []string{
		"    1.000000 [info] [worker 0] [plugin] done details=via_upstream address=10.0.0.1:8000 wall=2026-01-01 09:00:01",
		"   20.000000 [info] [worker 0] [plugin] done details=response_timeout address=10.0.0.1:8000 wall=2026-01-01 09:00:20",
		"   30.000000 [info] [worker 0] [plugin] done details=downstream_remote_disconnect address=10.0.0.1:8000 wall=2026-01-01 10:00:30",
		"   40.000000 [info] [worker 0] [plugin] done details=no_healthy_upstream address= wall=2026-01-01 10:00:40",
	} {
		assert.Contains(t, log, line)
	}
}

func TestWhatIsRandomInAGuestComesFromTheSeed(t *testing.T) {
	scenario, err := sim.Parse([]byte(endings))
	require.NoError(t, err)
	assert.Equal(t, spoilerLog(t, scenario, 1), spoilerLog(t, scenario, 1))
	assert.NotEqual(t, spoilerLog(t, scenario, 1), spoilerLog(t, scenario, 2))
}

// spoilerLog gives the lines that the spoiler wrote to the event log.
func spoilerLog(t *testing.T, scenario *sim.Scenario, seed uint64) []string {
	t.Helper()
	var log bytes.Buffer
	_, err := sim.Run(t.Context(), scenario, sim.Options{Wasm: buildSpoiler(t), Workers: 1, Seed: seed, Log: &log})
	require.NoError(t, err)
	return slices.DeleteFunc(strings.Split(log.String(), "\n"), func(line string) bool { return !strings.Contains(line, "[plugin]") })
}

func TestTheEventLogTellsWhatHappened(t *testing.T) {
	for file, want := range map[string][]string{
		"hosts-change": {
			"    0.000000 scenario hosts-change, workers 2, seed 0\n",
			"w0 #1 arrives on default\n",
			"   20.000000 event add D\n",
			"event remove A\n",
			"event order D B\n",
			"event B now Unhealthy\n",
			"no healthy host, status 503, after 0s\n",
			"answered, status 200, after 200ms\n",
		},
		"wall-jump":           {"event wall clock jumps by -1h0m0s\n", "block of A: "},
		"clients-leave":       {"client left, status 0, after 1m0s\n"},
		"route-timeout":       {"timed out, status 504, after 20s\n"},
		"reconfigure":         {`event configuration {"block_ttl":"20s","slow_threshold":"5s"}`, "configuration refused\n"},
		"trap":                {"event from now on proxy_on_tick: trap\n", "fault in proxy_on_tick of w0\n"},
		"junk":                {"event from now on proxy_get_shared_data: junk\n"},
		"host-call-fails":     {"proxy_get_upstream_hosts: internal_failure\n", "block of A moved from "},
		"other-worker-writes": {"proxy_set_shared_data: another worker writes before it\n", "w0 has ", " bytes of memory\n"},
		"../../../scenarios/two-workers-write-at-once": {"proxy_set_shared_data: the other workers tick before it\n"},
		"../../../scenarios/configuration-change":      {"block of A moved from 12m"},
	} {
		t.Run(file, func(t *testing.T) {
			scenario, err := sim.Load("testdata/" + file + ".yaml")
			require.NoError(t, err)
			log := string(eventLog(t, scenario, 0))
			var missing []string
			for _, line := range want {
				if !strings.Contains(log, line) {
					missing = append(missing, line)
				}
			}
			assert.Empty(t, missing)
		})
	}
}

func TestAnEventHappensAgainAsOftenAsTheFileSays(t *testing.T) {
	scenario, err := sim.Parse([]byte(`
name: again
duration: 1m
clusters:
  - name: llm
    latency: 1s
    endpoints:
      - {name: A, address: 10.0.0.1:8000}
      - {name: B, address: 10.0.0.2:8000}
traffic:
  - {name: chat, rate: 1}
events:
  - {at: 5s, remove: {endpoints: [B]}}
  - {at: 10s, every: 10s, until: 30s, wall_jump: {by: 1s}}
  - {at: 15s, every: 20s, wall_jump: {by: 2s}}
`))
	require.NoError(t, err)
	log := string(eventLog(t, scenario, 0))
	for line, times := range map[string]int{"event remove B": 1, "jumps by 1s": 2, "jumps by 2s": 3} {
		assert.Equal(t, times, strings.Count(log, line), line)
	}
	assert.Contains(t, log, "   55.000000 event wall clock jumps by 2s")
}

func TestProgressIsToldAndACancelledRunEnds(t *testing.T) {
	scenario, err := sim.Load("testdata/hosts-change.yaml")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	last := time.Duration(0)
	_, err = sim.Run(ctx, scenario, sim.Options{Wasm: plugintest.Wasm(t), Workers: 1, Log: &bytes.Buffer{}, Progress: func(now time.Duration) {
		assert.GreaterOrEqual(t, now, last)
		last = now
		if now >= 10*time.Second {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, last, 11*time.Second)
}
