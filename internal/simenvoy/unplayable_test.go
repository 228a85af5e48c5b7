package simenvoy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/sim"
)

const small = `
name: small
duration: 1m
clusters:
  - name: llm
    latency: 1s
    endpoints: [{name: A, address: 10.0.0.1:8000}]
traffic:
  - {name: chat, rate: 10}
`

func parsed(t *testing.T, more string) *sim.Scenario {
	t.Helper()
	s, err := sim.Parse([]byte(small + more))
	require.NoError(t, err)
	return s
}

func TestWhatMakesNoSenseOnARealEnvoyIsRefused(t *testing.T) {
	for more, want := range map[string]string{
		"events: [{at: 1s, order: {endpoints: [A]}}, {at: 1s, wall_jump: {by: 1h}}]": "events[1].wall_jump: the clock of this machine is not moved",
		"events: [{at: 1s, fault: {call: proxy_log, trap: true}}]":                   "events[0].fault: a real Envoy makes no mistakes on demand",
		"events: [{at: 1s, health: {endpoints: [A], status: Unhealthy}}]":            "events[0].health: Envoy's own health checks are not played",
	} {
		_, err := Play(t.Context(), parsed(t, more), Options{Workers: 1, Scale: 10})
		var unplayable *UnplayableError
		require.ErrorAs(t, err, &unplayable)
		assert.Equal(t, want, unplayable.Error())
	}
}

func TestTheRateThatCanBePlayedDependsOnTheScale(t *testing.T) {
	s := parsed(t, "")
	require.NoError(t, playable(s, s.Arrivals(1, 0), Options{Scale: 100}))
	s.Traffic[0].Rate = 20
	require.EqualError(t, playable(s, s.Arrivals(1, 0), Options{Scale: 100}), "traffic: at scale 100, 1200 requests come in a second; should be at most 1000")
	require.NoError(t, playable(s, s.Arrivals(1, 0), Options{Scale: 50}))
}

func TestTheScaleHasLimits(t *testing.T) {
	for _, scale := range []int{0, -1, MaxScale + 1} {
		require.ErrorContains(t, playable(parsed(t, ""), nil, Options{Scale: scale}), "should be 1 to 100")
	}
}
