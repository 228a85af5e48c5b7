package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
)

func TestTheNumberOfRequestsIsComputedBeforeTheRun(t *testing.T) {
	to := Duration(time.Hour)
	early := Duration(30 * time.Second)
	for name, c := range map[string]struct {
		traffic Traffic
		want    float64
	}{
		"up to the end of the run": {Traffic{Rate: 2, From: Duration(50 * time.Second), To: &to}, 20},
		"up to its own end":        {Traffic{Rate: 0.5, To: &early}, 15},
		"begun ones":               {Traffic{Rate: 0.01, To: &to}, 1},
		"of each worker":           {Traffic{Rate: 2, To: &early, Spread: "each"}, 240},
		"of a burst":               {Traffic{Burst: 7, Over: Duration(time.Second), To: &to}, 7},
	} {
		assert.InDelta(t, c.want, c.traffic.requestsFor(Duration(time.Minute), 4), 0, name)
	}
}

func TestAsManyRequestsAsTheLimitAreAccepted(t *testing.T) {
	s := &Scenario{Workers: WorkerCounts{1}, Duration: Duration(40 * time.Second)}
	s.Traffic = []Traffic{{Rate: maxRate, To: &s.Duration}}
	require.NoError(t, s.validateRequests())
	s.Duration++
	require.EqualError(t, s.validateRequests(), "given 4000001 requests in all; should be at most 4000000")
}

func TestAnEventsOccurrencesAreCountedAsTheyHappen(t *testing.T) {
	second, ten := Duration(time.Second), Duration(10*time.Second)
	until := Duration(9 * time.Second)
	for _, e := range []Event{
		{At: new(Duration)},
		{At: &second, Every: Duration(3 * time.Second)},
		{At: &second, Every: Duration(4 * time.Second), Until: &until},
		{At: &ten, Every: Duration(time.Second)},
		{At: new(Duration), Every: 1, Until: new(Duration)},
	} {
		assert.EqualValues(t, len(e.Moments(Duration(10*time.Second))), e.occurrences(Duration(10*time.Second)), e)
	}
}

// A request that has ended leaves room for another one, however it has ended.
func TestOnlyRequestsThatHaveNotEndedAreInFlight(t *testing.T) {
	m := aboutToBegin(t)
	require.NoError(t, m.play(t.Context()))
	unfinished := m.result.count(func(q *Request) bool { return q.Outcome == Unfinished })
	assert.Positive(t, unfinished)
	assert.Less(t, unfinished, int64(len(m.result.Requests)))
	assert.EqualValues(t, unfinished, m.inFlight)
}

func TestARunEndsWithTheMomentAtWhichItIsTooLarge(t *testing.T) {
	m := aboutToBegin(t)
	m.inFlight = maxInFlight
	require.ErrorContains(t, m.play(t.Context()), "at 0s: traffic: 250001 requests are in flight")
}

// aboutToBegin is a run in which some requests are answered, some time out, some clients
// leave, and some wait to the end.
func aboutToBegin(t *testing.T) *simulation {
	t.Helper()
	wasm := plugintest.Wasm(t)
	s, err := Parse([]byte(`
name: in-flight
duration: 1m
clusters:
  - name: llm
    endpoints: [{name: A, address: 10.0.0.1:8000, latency: [{from: 0s, headers: 1s}, {from: 5s, hang: true}]}]
routes: [{name: patient}, {name: short, timeout: 10s}]
traffic:
  - {route: patient, rate: 1}
  - {route: short, rate: 1}
  - {route: patient, rate: 1, leave_after: 5s}
`))
	require.NoError(t, err)
	m, err := loaded(t.Context(), s, Options{Wasm: wasm, Workers: 1})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.plugin.Close(context.WithoutCancel(t.Context()))) })
	return m
}

func TestARunEndsWhenTooManyRequestsAreInFlight(t *testing.T) {
	require.NoError(t, tooManyInFlight(maxInFlight))
	require.ErrorContains(t, tooManyInFlight(maxInFlight+1), "traffic: 250001 requests are in flight; should be at most 250000")
}
