package demo

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func checked(t *testing.T, scale float64, workers int, rate float64) error {
	t.Helper()
	plan, err := NewPlan(scale)
	require.NoError(t, err)
	nobody := func(context.Context, *Board) error { return nil }
	return Options{Plan: plan, Workers: workers, Rate: rate, Audience: nobody}.Check()
}

func TestARateThatCannotFillTheStoryIsRefusedWithTheLeastOne(t *testing.T) {
	for _, rate := range []float64{0, -1, 0.001, 0.02, 0.1, 7.7, 500.1, 1e6, math.Inf(1), math.Inf(-1), math.NaN()} {
		err := checked(t, 10, 2, rate)
		require.ErrorContains(t, err, "with 2 workers at scale 10 it goes from 7.8 to 500: each worker counts for itself, and needs 2 slow requests 0.5s apart in time", "%g", rate)
	}
	require.NoError(t, checked(t, 10, 2, 7.8))
	require.NoError(t, checked(t, 10, 2, MaxRate))
}

func TestTheDefaultRateFillsTheStoryAtEveryScale(t *testing.T) {
	for _, scale := range []float64{1, 10, 20, 50} {
		require.NoError(t, checked(t, scale, 2, 40))
	}
}

func TestMoreWorkersNeedMoreRequests(t *testing.T) {
	require.ErrorContains(t, checked(t, 10, 16, 40), "with 16 workers at scale 10 it goes from 62.4 to 500")
	require.NoError(t, checked(t, 10, 64, MaxRate))
	require.ErrorContains(t, checked(t, 50, 64, MaxRate), "workers: 64 given, at scale 50 they need 1129.5 requests per second, and 500 are the most")
	require.EqualError(t, checked(t, 10, 65, MaxRate), "workers: 65 given, it goes from 1 to 64")
}

func TestTheLeastRateGrowsWithTheWorkersAndTheScale(t *testing.T) {
	slow, err := NewPlan(1)
	require.NoError(t, err)
	fast, err := NewPlan(50)
	require.NoError(t, err)
	assert.Less(t, slow.LeastRate(1), slow.LeastRate(2))
	assert.Less(t, slow.LeastRate(2), fast.LeastRate(2))
}
