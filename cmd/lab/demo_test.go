package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runLab runs `lab` with the arguments.
func runLab(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	cmd := rootCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDemoWithoutThePluginSaysHowToBuildIt(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.wasm")
	_, err := runLab(t, "demo", "--gateway", "embedded", "--wasm", missing, "--out", filepath.Join(t.TempDir(), "x.png"))
	require.EqualError(t, err, missing+" is not there: run `make build`")
}

func TestDemoRefusesAScaleThatItCannotPlay(t *testing.T) {
	_, err := runLab(t, "demo", "--scale", "1000")
	require.ErrorContains(t, err, "scale: 1000 given")
	_, err = runLab(t, "demo", "--scale", "5", "--real-time")
	require.ErrorContains(t, err, "none of the others can be")
}

func TestHelpListsTheCommandsAndTheirExamples(t *testing.T) {
	out, err := runLab(t, "--help")
	require.NoError(t, err)
	assert.Contains(t, out, "demo")
	assert.Contains(t, out, "sim")
	out, err = runLab(t, "demo", "--help")
	require.NoError(t, err)
	assert.Contains(t, out, "lab demo --real-time")
	assert.Contains(t, out, "which takes about 22 s.")
}
