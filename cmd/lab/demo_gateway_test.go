package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/demo"
	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/plugintest"
)

func TestAnUnknownGatewayAndABuildForNoneAreRefused(t *testing.T) {
	for says, args := range map[string][]string{
		`gateway: "nginx" given, want auto, envoy or embedded`:                                                          {"demo", "--gateway", "nginx"},
		"wasm: a.wasm given, and each gateway takes a build of its own: name it, --gateway envoy or --gateway embedded": {"demo", "--wasm", "a.wasm"},
	} {
		_, err := runLab(t, args...)
		require.EqualError(t, err, says)
		assert.Equal(t, misused, exitCode(err))
	}
}

// demoUntil runs `lab demo` at the root of the tree until it prints a text.
func demoUntil(t *testing.T, text string, args ...string) string {
	t.Helper()
	t.Chdir("../..")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &stopAt{text: text, stop: stop}
	cmd := rootCommand()
	cmd.SetOut(out)
	cmd.SetArgs(append([]string{"demo", "--plain", "--out", filepath.Join(t.TempDir(), "x.png")}, args...))
	require.ErrorIs(t, cmd.ExecuteContext(ctx), context.Canceled)
	return out.String()
}

func TestTheDemoPlaysOnEnvoyWhereItCan(t *testing.T) {
	plugintest.EnvoyBinary(t)
	plugintest.EnvoyPath(t)
	for _, args := range [][]string{nil, {"--gateway", "auto"}, {"--gateway", "envoy"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			assert.Equal(t, "gateway: "+demo.Envoy.String()+" with 2 workers\n", demoUntil(t, "gateway: ", args...))
		})
	}
}

func TestTheDemoPlaysOnTheEmbeddedGatewayWhenAsked(t *testing.T) {
	plugintest.Wasm(t)
	out := demoUntil(t, "req/s  ", "--gateway", "embedded", "--workers", "1")
	assert.True(t, strings.HasPrefix(out, "gateway: the embedded gateway with 1 worker\nthree model servers"), out)
}

func TestWithoutAnEnvoyTheDemoPlaysOnTheEmbeddedGatewayAndSaysWhy(t *testing.T) {
	plugintest.Wasm(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, missing := envoy.Binary()
	require.Error(t, missing)
	out := demoUntil(t, "req/s  ")
	assert.Contains(t, out, "gateway: the embedded gateway with 2 workers, because "+missing.Error()+"\nthree model servers behind")

	_, err := runLab(t, "demo", "--gateway", "envoy", "--out", filepath.Join(t.TempDir(), "x.png"))
	require.EqualError(t, err, missing.Error(), "who asks for Envoy gets nothing else")
}

func TestWithoutTheBuildForEnvoyTheDemoSaysSo(t *testing.T) {
	plugintest.EnvoyBinary(t)
	t.Chdir(t.TempDir())
	out, err := runLab(t, "demo", "--plain")
	require.EqualError(t, err, embeddedWasm+" is not there: run `make build`")
	assert.Empty(t, out)
	require.NoError(t, os.WriteFile(embeddedWasm, []byte("wasm"), 0o600))
	out, err = runLab(t, "demo", "--plain")
	require.ErrorContains(t, err, "is not the plugin's build for Higress")
	assert.Equal(t, "gateway: the embedded gateway with 2 workers, because "+envoyWasm+" is not there: run `make build`\n", out)
}

func TestAnEnvoyThatDoesNotStartIsReplacedUnlessItWasAskedFor(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("there is no Envoy that could fail")
	}
	plugintest.Wasm(t)
	plugintest.EnvoyPath(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	folder := filepath.Join(cache, "endpoint-breaker", "envoy", envoy.Version)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "envoy"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	out := demoUntil(t, "embedded")
	assert.Contains(t, out, "\ngateway: the embedded gateway with 2 workers, because Envoy 1.40.0 does not start here: ")

	var unavailable *demo.UnavailableError
	_, err := runLab(t, "demo", "--plain", "--gateway", "envoy", "--out", filepath.Join(t.TempDir(), "x.png"))
	require.ErrorAs(t, err, &unavailable)
}
