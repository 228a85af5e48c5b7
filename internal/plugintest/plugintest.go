// Package plugintest hands the plugin as it is shipped, copies of it with a fault, and the Envoy
// to run it on, to tests.
package plugintest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"endpoint-breaker/internal/envoy"
)

// The plugin's builds, one for each kind of gateway.
const (
	higressBuild = "endpoint-breaker.wasm"
	envoyBuild   = "endpoint-breaker-envoy.wasm"
)

// Wasm reads the build for Higress, dist/endpoint-breaker.wasm of this module, from whatever
// folder the test runs in. Where it was not built the test is skipped; in CI it fails.
func Wasm(tb testing.TB) []byte {
	tb.Helper()
	wasm, err := os.ReadFile(Path(tb))
	if err != nil {
		missing(tb, higressBuild, err)
	}
	return wasm
}

// Path returns where `make build` puts the build for Higress.
func Path(tb testing.TB) string {
	tb.Helper()
	return dist(tb, higressBuild)
}

// EnvoyPath returns where the build for a stock Envoy is. Where it was not built the test is
// skipped; in CI it fails.
func EnvoyPath(tb testing.TB) string {
	tb.Helper()
	path := dist(tb, envoyBuild)
	if _, err := os.Stat(path); err != nil {
		missing(tb, envoyBuild, err)
	}
	return path
}

// EnvoyBinary returns the path of the Envoy that `make envoy` fetches. Where it was not fetched
// the test is skipped, saying why; in CI it fails.
func EnvoyBinary(tb testing.TB) string {
	tb.Helper()
	path, err := envoy.Binary()
	if err != nil && os.Getenv("CI") == "" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return path
}

// missing ends a test that lacks one of the builds.
func missing(tb testing.TB, build string, err error) {
	tb.Helper()
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		tb.Skipf("dist/%s is missing: make build", build)
	}
	tb.Fatalf("make build first: %v", err)
}

// dist returns the path of a build.
func dist(tb testing.TB, build string) string {
	tb.Helper()
	return filepath.Join(root(tb), "dist", build)
}

// root returns this module's folder.
func root(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	for ; err == nil; folder = filepath.Dir(folder) {
		if _, missing := os.Stat(filepath.Join(folder, "go.mod")); missing == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	tb.Fatalf("no go.mod above the test's folder: %v", err)
	return ""
}
