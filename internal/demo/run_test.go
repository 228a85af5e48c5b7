package demo

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(t *testing.T, audience Audience) Options {
	t.Helper()
	plan, err := NewPlan(25) // faster, a busy machine would pass for a slow endpoint
	require.NoError(t, err)
	return Options{Wasm: plugintest.Wasm(t), Plan: plan, Workers: 2, Rate: 60, Seed: 1, Audience: audience}
}

func TestTheShippedPluginMeetsEveryCondition(t *testing.T) {
	var progress bytes.Buffer
	recording, err := Run(t.Context(), options(t, Narrate(&progress)))
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

func TestTheBoardShowsTheBlockAsThePluginWroteIt(t *testing.T) {
	var s State
	_, err := Run(t.Context(), options(t, func(ctx context.Context, board *Board) error {
		err := until(ctx, board, EventBlock)
		s = board.State()
		return errors.Join(err, errors.New("seen enough"))
	}))
	require.ErrorContains(t, err, "seen enough")
	require.Len(t, s.Endpoints, 3)
	blocked := s.Endpoints[1]
	assert.Equal(t, Blocked, blocked.Phase)
	assert.Equal(t, Blocked, s.Phase())
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
	ctx, interrupt := context.WithCancel(t.Context())
	_, err := Run(ctx, options(t, func(ctx context.Context, board *Board) error {
		defer interrupt()
		return until(ctx, board, EventFault)
	}))
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnAudienceThatFailsEndsTheStory(t *testing.T) {
	left := errors.New("the audience has left")
	_, err := Run(t.Context(), options(t, func(context.Context, *Board) error { return left }))
	require.ErrorIs(t, err, left)
}

// until waits for an event.
func until(ctx context.Context, board *Board, kind EventKind) error {
	ticker := time.NewTicker(listenEvery)
	defer ticker.Stop()
	for {
		if _, happened := board.State().Event(kind); happened {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
