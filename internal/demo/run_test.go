package demo

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/modelserver"
	"endpoint-breaker/internal/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(t *testing.T) Options {
	t.Helper()
	plan, err := NewPlan(25) // faster, a busy machine would pass for a slow endpoint
	require.NoError(t, err)
	return Options{Plan: plan, Workers: 2, Rate: 60, Seed: 1}
}

func onEmbedded(t *testing.T) Options {
	t.Helper()
	plugintest.Wasm(t)
	o := options(t)
	o.Gateway, o.Wasm = Embedded, plugintest.Path(t)
	return o
}

func onEnvoy(t *testing.T) Options {
	t.Helper()
	plugintest.EnvoyBinary(t)
	o := options(t)
	o.Gateway, o.Wasm = Envoy, plugintest.EnvoyPath(t)
	return o
}

// gateways are the options for each of them.
func gateways() map[string]func(*testing.T) Options {
	return map[string]func(*testing.T) Options{"embedded": onEmbedded, "envoy": onEnvoy}
}

func TestTheShippedPluginMeetsEveryCondition(t *testing.T) {
	for name, on := range gateways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // an Envoy needs seconds to start
			o := on(t)
			var progress bytes.Buffer
			var atBlock State
			o.Audience = func(ctx context.Context, board *Board) error {
				narrated := make(chan error)
				go func() { narrated <- Narrate(&progress)(ctx, board) }()
				err := until(ctx, board, func(s State) bool { return s.Phase() == Blocked && s.Counters.Blocks > 0 })
				atBlock = board.State()
				return errors.Join(err, <-narrated)
			}
			recording, err := Run(t.Context(), o)
			require.NoError(t, err)
			for _, finding := range Judge(recording) {
				assert.True(t, finding.OK, finding.Text)
			}
			assert.NotZero(t, recording.Heal)
			for _, line := range []string{
				"gpu-b turns slow", "the plugin blocks gpu-b",
				"endpoint-breaker block mode=enforce", "gpu-b heals", "the block is over",
			} {
				assert.Equal(t, 1, strings.Count(progress.String(), line), line)
			}
			if t.Failed() {
				t.Log(progress.String())
			}
			checkBoardAtBlock(t, atBlock)
		})
	}
}

// checkBoardAtBlock looks at the board soon after the block.
func checkBoardAtBlock(t *testing.T, s State) {
	t.Helper()
	require.Len(t, s.Endpoints, 3)
	blocked := s.Endpoints[1]
	assert.Equal(t, Blocked, blocked.Phase)
	assert.Equal(t, s.Setting.Plan.BlockTTL, blocked.Block.Until-blocked.Block.Since)
	assert.GreaterOrEqual(t, blocked.Oldest, s.Setting.Plan.SlowThreshold)
	assert.Greater(t, blocked.Waiting, 1)
	for _, i := range []int{0, 2} {
		assert.Equal(t, Healthy, s.Endpoints[i].Phase)
		assert.NotZero(t, s.Endpoints[i].Answered)
	}
	assert.GreaterOrEqual(t, s.Counters.Samples, int64(confirmCount))
	assert.Equal(t, int64(1), s.Counters.Blocks)
}

func TestAStoryThatIsInterruptedStopsEverything(t *testing.T) {
	for name, on := range gateways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // an Envoy needs seconds to start
			o := on(t)
			ctx, interrupt := context.WithCancel(t.Context())
			o.Audience = func(ctx context.Context, board *Board) error {
				defer interrupt()
				return until(ctx, board, func(s State) bool { return s.Phase() == Slow })
			}
			_, err := Run(ctx, o)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestAnAudienceThatFailsEndsTheStory(t *testing.T) {
	left := errors.New("the audience has left")
	o := onEmbedded(t)
	o.Audience = func(context.Context, *Board) error { return left }
	_, err := Run(t.Context(), o)
	require.ErrorIs(t, err, left)
}

func TestAGatewayThatCannotStartSaysWhy(t *testing.T) {
	for name, on := range gateways() {
		t.Run(name, func(t *testing.T) {
			o := on(t)
			o.Audience = func(context.Context, *Board) error { return nil }
			o.Wasm = filepath.Join(t.TempDir(), "none.wasm")
			_, err := Run(t.Context(), o)
			require.ErrorContains(t, err, o.Wasm)
			var unavailable *UnavailableError
			assert.NotErrorAs(t, err, &unavailable, "it is the plugin that is missing")
		})
	}
}

func TestTheEmbeddedGatewayRefusesTheBuildForEnvoy(t *testing.T) {
	o := options(t)
	o.Wasm, o.Audience = plugintest.EnvoyPath(t), func(context.Context, *Board) error { return nil }
	_, err := Run(t.Context(), o)
	require.EqualError(t, err, o.Wasm+" is not the plugin's build for Higress, which the embedded gateway stands for: it does not import proxy_set_upstream_override_host")
}

func TestAnEnvoyThatCannotRunIsUnavailable(t *testing.T) {
	if _, err := envoy.Binary(); err != nil && runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		t.Skip(err)
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	folder := filepath.Join(cache, "endpoint-breaker", "envoy", envoy.Version)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "envoy"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	o := options(t)
	o.Gateway, o.Wasm, o.Audience = Envoy, "any.wasm", func(context.Context, *Board) error { return nil }
	_, err := Run(t.Context(), o)
	var unavailable *UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.ErrorContains(t, err, "Envoy 1.40.0 does not start here: ")
}

func TestAnAnswerThatIsNotInTheAccessLogIsAnError(t *testing.T) {
	zero := time.Now()
	answer := func(id string) *vegeta.Result {
		return &vegeta.Result{Timestamp: zero, Headers: http.Header{requestIDHeader: {id}, modelserver.ServedByHeader: {"gpu-a"}}}
	}
	failed := &vegeta.Result{Timestamp: zero.Add(ms), Error: "EOF"}
	s := &stage{started: zero, decisions: map[string]decision{"demo-1": {zero.Add(1 * ms), zero.Add(2 * ms)}}}
	requests, err := s.join([]*vegeta.Result{answer("demo-1"), failed})
	require.NoError(t, err, "nobody knows what became of a request without an answer; it is a failure anyway")
	require.Len(t, requests, 2)
	assert.Equal(t, 1*ms, requests[0].DecisionBegan)
	assert.Equal(t, 2*ms, requests[0].DecisionEnded)
	_, err = s.join([]*vegeta.Result{answer("demo-1"), answer("demo-2"), failed})
	require.EqualError(t, err, "1 of 3 requests are not in the gateway's access log")
}

// until waits for a state of the board.
func until(ctx context.Context, board *Board, is func(State) bool) error {
	ticker := time.NewTicker(listenEvery)
	defer ticker.Stop()
	for !is(board.State()) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func TestWhatCannotBePlayedIsRefused(t *testing.T) {
	nobody := func(context.Context, *Board) error { return nil }
	plan, err := NewPlan(40)
	require.NoError(t, err)
	_, err = Run(t.Context(), Options{Plan: plan, Workers: 0, Rate: 40, Audience: nobody})
	require.EqualError(t, err, "workers: 0 given, it goes from 1 to 64")
	_, err = Run(t.Context(), Options{Plan: plan, Workers: 1, Rate: 0, Audience: nobody})
	require.ErrorContains(t, err, "rate: 0 requests per second given")
	_, err = Run(t.Context(), Options{Plan: plan, Workers: 1, Rate: 40})
	require.EqualError(t, err, "audience: none given")
}
