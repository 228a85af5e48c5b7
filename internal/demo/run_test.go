package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const shippedPlugin = "../../dist/endpoint-breaker.wasm"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shipped is the plugin as built. In CI it must be there.
func shipped(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile(shippedPlugin)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("dist/endpoint-breaker.wasm is missing: run `make build`")
	}
	require.NoError(t, err)
	return wasm
}

func options(t *testing.T, progress io.Writer) Options {
	t.Helper()
	plan, err := NewPlan(25) // faster, a busy machine would pass for a slow endpoint
	require.NoError(t, err)
	return Options{Wasm: shipped(t), Plan: plan, Workers: 2, Rate: 60, Seed: 1, Progress: progress}
}

func TestTheShippedPluginMeetsEveryCondition(t *testing.T) {
	var progress bytes.Buffer
	recording, err := Run(t.Context(), options(t, &progress))
	require.NoError(t, err)
	for _, finding := range Judge(recording) {
		assert.True(t, finding.OK, finding.Text)
	}
	assert.NotZero(t, recording.Heal)
	for _, line := range []string{"gpu-b turns slow", "the plugin blocks gpu-b", "gpu-b heals", "the block is over"} {
		assert.Equal(t, 1, strings.Count(progress.String(), line), line)
	}
	if t.Failed() {
		t.Log(progress.String())
	}
	workers := map[int]int{}
	for _, request := range recording.Requests {
		workers[request.Worker]++
	}
	assert.Len(t, workers, 2, "both workers had requests: %v", workers)
}

// writerFunc hears every line of the progress.
type writerFunc func(line string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

func TestAStoryThatIsInterruptedStopsEverything(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	_, err := Run(ctx, options(t, writerFunc(func(line string) {
		if strings.Contains(line, "turns slow") {
			interrupt()
		}
	})))
	require.ErrorIs(t, err, context.Canceled)
}

func TestWhatCannotBePlayedIsRefused(t *testing.T) {
	plan, err := NewPlan(40)
	require.NoError(t, err)
	_, err = Run(t.Context(), Options{Plan: plan, Rate: 1})
	require.EqualError(t, err, "workers: 0 given, at least 1 is needed")
	_, err = Run(t.Context(), Options{Plan: plan, Workers: 1})
	require.EqualError(t, err, "rate: 0 given, it must be above 0 requests per second")
}
