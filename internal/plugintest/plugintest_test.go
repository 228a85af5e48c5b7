package plugintest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
)

// said is a test that only notes what becomes of it.
type said struct {
	testing.TB
	skipped, failed bool
}

func (s *said) Helper()               {}
func (s *said) Skipf(string, ...any)  { s.skipped = true; panic(s) }
func (s *said) Skip(...any)           { s.skipped = true; panic(s) }
func (s *said) Fatalf(string, ...any) { s.failed = true; panic(s) }

func TestAMissingBinarySkipsATestAndFailsItInCI(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "deep", "er"), 0o700))
	t.Chdir(filepath.Join(root, "deep", "er"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "cache"))
	for name, want := range map[string]func(*said){
		"the build for Higress": func(s *said) { plugintest.Wasm(s) },
		"the build for Envoy":   func(s *said) { plugintest.EnvoyPath(s) },
		"Envoy itself":          func(s *said) { plugintest.EnvoyBinary(s) },
	} {
		ask := func(ci string) *said {
			t.Setenv("CI", ci)
			s := &said{TB: t}
			assert.Panics(t, func() { want(s) }, name)
			return s
		}
		assert.True(t, ask("").skipped, name)
		assert.True(t, ask("true").failed, name)
	}

	dist := filepath.Join(root, "dist")
	require.NoError(t, os.MkdirAll(dist, 0o700))
	require.NoError(t, os.WriteFile(plugintest.Path(t), []byte("wasm"), 0o600))
	assert.Equal(t, []byte("wasm"), plugintest.Wasm(t))
	require.NoError(t, os.WriteFile(filepath.Join(dist, "endpoint-breaker-envoy.wasm"), nil, 0o600))
	assert.Equal(t, filepath.Join(dist, "endpoint-breaker-envoy.wasm"), plugintest.EnvoyPath(t))
}
