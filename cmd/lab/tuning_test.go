package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTuningWritesItsTablesIntoThePages(t *testing.T) {
	needShippedWasm(t)
	t.Chdir("../..")
	out := t.TempDir()
	for _, page := range []string{"tuning.md", "tuning.zh.md"} {
		text, err := os.ReadFile(filepath.Join("docs", page))
		require.NoError(t, err)
		emptied := strings.ReplaceAll(string(text), "| `block_ttl: 45s`", "| gone")
		require.NoError(t, os.WriteFile(filepath.Join(out, page), []byte(emptied), 0o600))
	}
	printed, err := runLab(t, "tuning", "--quick", "--out", out)
	require.NoError(t, err)
	assert.Contains(t, printed, "1 of 15: ")
	assert.Contains(t, printed, "15 of 15: ")
	assert.Regexp(t, `return: probation +\d+ %`, printed)
	assert.Contains(t, printed, "are in "+out)
	page, err := os.ReadFile(filepath.Join(out, "tuning.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "| `block_ttl: 45s` (default) | ")
	assert.FileExists(t, filepath.Join(out, "tuning-return.png"))
	assert.FileExists(t, filepath.Join(out, "tuning-evidence.png"))
}

func TestTuningRefusesWhatItCannotDoBeforeItBegins(t *testing.T) {
	_, err := runLab(t, "tuning", "--out", t.TempDir())
	require.ErrorContains(t, err, "--out: ")
	assert.Equal(t, misused, exitCode(err))
	_, err = runLab(t, "tuning", "--wasm", filepath.Join(t.TempDir(), "none.wasm"))
	require.ErrorContains(t, err, "make build makes dist/endpoint-breaker.wasm")
	assert.Equal(t, misused, exitCode(err))
}
