package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
)

const (
	shippedWasm = "../../dist/endpoint-breaker.wasm"

	quickScenario = `
name: quick
description: Nothing happens.
duration: 10s
clusters:
  - name: llm
    latency: 1s
    endpoints:
      - {name: A, address: 10.0.0.1:8000}
traffic:
  - {name: chat, rate: 1}
expect:
  - requests: {exactly: 10}
`
)

// runSim runs `lab sim` with the arguments.
func runSim(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, progress bytes.Buffer
	cmd := simCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func needShippedWasm(t *testing.T) {
	t.Helper()
	plugintest.Wasm(t)
}

func scenarioFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func requireExitCode(t *testing.T, err error, code int) {
	t.Helper()
	var exit interface{ ExitCode() int }
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, code, exit.ExitCode())
}

func TestSimPrintsAVerdictForEachFile(t *testing.T) {
	needShippedWasm(t)
	file := scenarioFile(t, "quick.yaml", quickScenario)
	out, err := runSim(t, "--wasm", shippedWasm, file, file)
	require.NoError(t, err)
	assert.Regexp(t, `(?s)PASS quick \(5 of 5 expectations, simulated 10s in .*\).*PASS quick`, out)
}

func TestSimExitsWith1WhenAScenarioFails(t *testing.T) {
	needShippedWasm(t)
	good := scenarioFile(t, "good.yaml", quickScenario)
	bad := scenarioFile(t, "bad.yaml", string(bytes.Replace([]byte(quickScenario), []byte("exactly: 10"), []byte("exactly: 11"), 1)))
	out, err := runSim(t, "--wasm", shippedWasm, good, bad)
	requireExitCode(t, err, 1)
	require.EqualError(t, err, "1 of 2 runs failed")
	assert.Contains(t, out, "✗ arriving requests: exactly 11 — seen: 10")
	assert.Contains(t, out, "FAIL quick (4 of 5 expectations")
}

func TestSimCountsTheRunsOfAFileThatFail(t *testing.T) {
	needShippedWasm(t)
	file := scenarioFile(t, "three.yaml", quickScenario+"  - requests_to: {endpoint: A, exactly: 9}\nworkers: [1, 2, 3]\n")
	_, err := runSim(t, "--wasm", shippedWasm, file)
	requireExitCode(t, err, 1)
	require.EqualError(t, err, "3 of 3 runs failed")

	file = scenarioFile(t, "one.yaml", quickScenario+"  - requests_to: {endpoint: A, exactly: 9}\n")
	_, err = runSim(t, "--wasm", shippedWasm, file)
	require.EqualError(t, err, "1 of 1 run failed")
}

func TestSimExitsWith2ForAWrongCommandLine(t *testing.T) {
	for name, args := range map[string][]string{
		"a scenario file is missing: lab sim FILE.yaml": {"sim"},
		"unknown flag: --nope":                          {"sim", "--nope", "quick.yaml"},
		"--seed":                                        {"sim", "--seed", "-1", "quick.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runLab(t, args...)
			require.ErrorContains(t, err, name)
			assert.Equal(t, misused, exitCode(err))
		})
	}
}

func TestSimFailsOnOneLineWhateverTheFileIsCalled(t *testing.T) {
	_, err := runSim(t, "--wasm", shippedWasm, "two\nlines.yaml")
	requireExitCode(t, err, 2)
	require.EqualError(t, err, `"two\nlines.yaml": no such file or directory`)

	_, err = runSim(t, "--wasm", "two\nlines.wasm", scenarioFile(t, "quick.yaml", quickScenario))
	requireExitCode(t, err, 2)
	assert.NotContains(t, err.Error(), "\n")
}

func TestSimExitsWith2WhenAScenarioCannotBePlayed(t *testing.T) {
	broken := scenarioFile(t, "broken.yaml", "colour: red")
	for name, args := range map[string][]string{
		"broken.yaml: colour: unknown field": {"--wasm", shippedWasm, broken},
		"empty.yaml: expect: is missing":     {"--wasm", shippedWasm, scenarioFile(t, "empty.yaml", strings.Replace(quickScenario, "\n  - requests: {exactly: 10}", " []", 1))},
		"missing.yaml: no such file":         {"--wasm", shippedWasm, "missing.yaml"},
		"make build":                         {"--wasm", "missing.wasm", scenarioFile(t, "quick.yaml", quickScenario)},
		"nowhere/log":                        {"--log", "nowhere/log", "--wasm", broken, scenarioFile(t, "quick.yaml", quickScenario)},
		"plugin does not start":              {"--wasm", broken, scenarioFile(t, "quick.yaml", quickScenario)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runSim(t, args...)
			requireExitCode(t, err, 2)
			require.ErrorContains(t, err, name)
		})
	}
}

func TestSimExitsWith2WhenThePluginRefusesTheConfiguration(t *testing.T) {
	needShippedWasm(t)
	file := scenarioFile(t, "refused.yaml", quickScenario+"plugin: {slow_threshold: 70}\n")
	_, err := runSim(t, "--wasm", shippedWasm, file)
	requireExitCode(t, err, 2)
	require.EqualError(t, err, file+`: plugin.slow_threshold: got 70, want a duration with a unit such as "70s"`)
}

func TestSimWritesTheEventLogOfTheSeed(t *testing.T) {
	needShippedWasm(t)
	file := scenarioFile(t, "quick.yaml", quickScenario)
	log := filepath.Join(t.TempDir(), "events.log")
	_, err := runSim(t, "--wasm", shippedWasm, "--seed", "99", "--log", log, file)
	require.NoError(t, err)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Contains(t, string(text), "scenario quick, workers 1, seed 99\n")
	assert.Contains(t, string(text), "w0 #1 goes to A (balancer)\n")
}

func TestSimRefusesAGatewayAndAScaleThatMakeNoSense(t *testing.T) {
	file := scenarioFile(t, "quick.yaml", quickScenario)
	for want, args := range map[string][]string{
		`gateway: "nginx" given, want embedded or envoy`:  {"--gateway", "nginx", file},
		"scale: goes with --gateway envoy only":           {"--scale", "10", file},
		"scale: 0 given, want 1 to 100":                   {"--gateway", "envoy", "--scale", "0", file},
		"make build makes dist/endpoint-breaker.wasm and": {"--wasm", "missing.wasm", file},
	} {
		_, err := runSim(t, args...)
		requireExitCode(t, err, misused)
		require.ErrorContains(t, err, want)
	}
}

func TestSimPlaysOnARealEnvoy(t *testing.T) {
	plugintest.EnvoyBinary(t)
	file := scenarioFile(t, "quick.yaml", quickScenario)
	out, err := runSim(t, "--gateway", "envoy", "--scale", "10", "--wasm", plugintest.EnvoyPath(t), file)
	require.NoError(t, err)
	assert.Regexp(t, `PASS quick \(3 of 3 expectations, 10s on Envoy .* at 10× in .*, moments exact to .*\)`, out)
}

func TestSimSaysWhatCannotBePlayedOnARealEnvoy(t *testing.T) {
	plugintest.EnvoyBinary(t)
	file := scenarioFile(t, "jump.yaml", quickScenario+"events: [{at: 1s, wall_jump: {by: 1h}}]\n")
	_, err := runSim(t, "--gateway", "envoy", "--wasm", plugintest.EnvoyPath(t), file)
	requireExitCode(t, err, misused)
	require.EqualError(t, err, file+": events[0].wall_jump: the clock of this machine is not moved")
}

// Without Envoy, one line says what to do.
func TestSimSaysThatEnvoyIsMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := runSim(t, "--gateway", "envoy", scenarioFile(t, "quick.yaml", quickScenario))
	requireExitCode(t, err, misused)
	assert.NotContains(t, err.Error(), "\n")
	assert.Contains(t, err.Error(), "Envoy")
}
