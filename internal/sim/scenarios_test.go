package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

// TestScenarios plays every scenario file against the shipped plugin, and the
// small ones in testdata that show what the engine can do.
func TestScenarios(t *testing.T) {
	for _, pattern := range []string{"../../scenarios/*.yaml", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			playFile(t, file)
		}
	}
}

func playFile(t *testing.T, file string) {
	t.Helper()
	scenario, err := sim.Load(file)
	require.NoError(t, err)
	for _, workers := range scenario.Workers {
		t.Run(fmt.Sprintf("%s, %d workers", scenario.Name, workers), func(t *testing.T) {
			requirePassed(t, play(t, scenario, workers))
		})
	}
}

func TestScenarioFilesSayWhatTheyAre(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/*.yaml")
	require.NoError(t, err)
	more, err := filepath.Glob("../../scenarios/*/*.yaml")
	require.NoError(t, err)
	files = append(files, more...)
	for _, file := range files {
		scenario, err := sim.Load(file)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSuffix(filepath.Base(file), ".yaml"), scenario.Name)
		assert.NotEmpty(t, scenario.Description, file)
		assert.NotEmpty(t, scenario.Expect, file)
	}
}

func TestASpoiledPluginFailsTheScenarios(t *testing.T) {
	for _, c := range []struct{ scenario, plugin, failure string }{
		{"one-slow-host", `{"mode":"off"}`, "A is blocked between 2m15s and 2m25s"},
		{"one-slow-host", `{"mode":"observe"}`, "requests to A from 2m25s to 3m0s: exactly 0"},
		{"hanging-host-defaults", `{"mode":"off"}`, "A is blocked between 2m15s and 2m17s"},
		{"hanging-host-defaults", `{"slow_threshold":"72s"}`, "A is blocked between 2m15s and 2m17s"},
		{"hanging-host-defaults", `{"confirm_count":3}`, "A is blocked between 2m15s and 2m17s"},
		{"hanging-host-defaults", `{"check_interval":"0s"}`, "A is blocked between 2m15s and 2m17s"},
		{"hanging-host-defaults", `{"block_ttl":"30s"}`, "for 45s"},
		{"hiccup-30s", `{"mode":"observe","slow_threshold":"3s"}`, "A is blocked between 8s and 9.5s"},
		{"burst-hangs", `{"dedup_window":"0s"}`, "once-hangs, once-B, once-C never blocked"},
		{"burst-hangs", `{"confirm_count":1}`, "twice-hangs never blocked to 1m50s"},
	} {
		t.Run(c.scenario+" "+c.plugin, func(t *testing.T) {
			scenario, err := sim.Load("../../scenarios/" + c.scenario + ".yaml")
			require.NoError(t, err)
			scenario.Plugin = json.RawMessage(c.plugin)
			result := play(t, scenario, 1)
			assert.False(t, result.Passed())
			assert.Contains(t, failures(result), c.failure)
		})
	}
}

// failures lists the expectations that did not hold.
func failures(result *sim.Result) string {
	var lines []string
	for _, verdict := range result.Verdicts() {
		if !verdict.OK {
			lines = append(lines, verdict.String())
		}
	}
	return strings.Join(lines, "\n")
}

func TestTheSameSeedGivesTheSameLogToTheByte(t *testing.T) {
	for _, file := range []string{"../../scenarios/one-slow-host.yaml", "testdata/trap.yaml"} {
		scenario, err := sim.Load(file)
		require.NoError(t, err)
		first, second := eventLog(t, scenario, 7), eventLog(t, scenario, 7)
		assert.True(t, bytes.Equal(first, second), "two runs of %s with one seed differ", file)
		assert.Greater(t, bytes.Count(first, []byte("\n")), 1000)

		other := eventLog(t, scenario, 8)
		assert.NotEqual(t, withoutTitle(first), withoutTitle(other))
	}
}

func eventLog(t *testing.T, scenario *sim.Scenario, seed uint64) []byte {
	t.Helper()
	var log bytes.Buffer
	_, err := sim.Run(t.Context(), scenario, sim.Options{Wasm: plugintest.Wasm(t), Workers: 2, Seed: seed, Log: &log})
	require.NoError(t, err)
	return log.Bytes()
}

// withoutTitle drops the first line, which names the seed.
func withoutTitle(log []byte) string {
	_, rest, _ := strings.Cut(string(log), "\n")
	return rest
}

func TestAConfigurationThatThePluginRefusesAtTheStartIsAnError(t *testing.T) {
	scenario, err := sim.Load("testdata/sse.yaml")
	require.NoError(t, err)
	scenario.Plugin = json.RawMessage(`{"slow_threshold":70}`)
	_, err = sim.Run(t.Context(), scenario, sim.Options{Wasm: plugintest.Wasm(t), Workers: 1})
	require.ErrorContains(t, err, "plugin.slow_threshold: got 70")
}
