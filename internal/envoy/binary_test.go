package envoy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/envoy"
)

func TestBinaryIsLookedForInTheUsersCacheFolder(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		_, err := envoy.Binary()
		require.ErrorContains(t, err, "only for linux/amd64")
		return
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	_, err := envoy.Binary()
	require.ErrorContains(t, err, "make envoy")
	assert.NotContains(t, err.Error(), "\n")

	wanted := filepath.Join(cache, "endpoint-breaker", "envoy", envoy.Version, "envoy")
	require.NoError(t, os.MkdirAll(filepath.Dir(wanted), 0o700))
	require.NoError(t, os.WriteFile(wanted, nil, 0o700))
	found, err := envoy.Binary()
	require.NoError(t, err)
	assert.Equal(t, wanted, found)
}

func TestTheScriptFetchesTheVersionThatBinaryLooksFor(t *testing.T) {
	script, err := os.ReadFile("../../tools/envoy.sh")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^version=(.*)$`).FindSubmatch(script)
	require.NotNil(t, version)
	assert.Equal(t, envoy.Version, string(version[1]))
	assert.Regexp(t, `(?m)^sha256=[0-9a-f]{64}$`, string(script))
	assert.Contains(t, string(script), "/endpoint-breaker/envoy/$version")
}
