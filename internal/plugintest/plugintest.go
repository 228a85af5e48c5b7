// Package plugintest hands the plugin as it is shipped to tests.
package plugintest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Wasm reads dist/endpoint-breaker.wasm of this module, from whatever folder the test runs in.
// Where it was not built the test is skipped; in CI it fails.
func Wasm(tb testing.TB) []byte {
	tb.Helper()
	wasm, err := os.ReadFile(Path(tb))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		tb.Skip("dist/endpoint-breaker.wasm is missing: make build")
	}
	if err != nil {
		tb.Fatalf("make build first: %v", err)
	}
	return wasm
}

// Path returns where `make build` puts the plugin.
func Path(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	for ; err == nil; folder = filepath.Dir(folder) {
		if _, missing := os.Stat(filepath.Join(folder, "go.mod")); missing == nil {
			return filepath.Join(folder, "dist", "endpoint-breaker.wasm")
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	tb.Fatalf("no go.mod above the test's folder: %v", err)
	return ""
}
