package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnArrivalWithoutAnEndIsARequestThatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		finished []Journey
		arrivals []time.Duration
		waiting  []Journey
	}{
		"nothing":               {nil, nil, nil},
		"all are over":          {[]Journey{{10 * ms, 50 * ms}}, []time.Duration{11 * ms}, nil},
		"one waits":             {nil, []time.Duration{11 * ms}, []Journey{{Began: 11 * ms}}},
		"the first of three":    {[]Journey{{40 * ms, 50 * ms}, {20 * ms, 90 * ms}}, []time.Duration{11 * ms, 21 * ms, 41 * ms}, []Journey{{Began: 11 * ms}}},
		"the last of three":     {[]Journey{{20 * ms, 90 * ms}, {10 * ms, 50 * ms}}, []time.Duration{41 * ms, 21 * ms, 11 * ms}, []Journey{{Began: 41 * ms}}},
		"it has not got there":  {[]Journey{{10 * ms, 50 * ms}}, nil, nil},
		"before the one sent  ": {[]Journey{{30 * ms, 50 * ms}}, []time.Duration{10 * ms, 31 * ms}, []Journey{{Began: 10 * ms}}},
	} {
		t.Run(name, func(t *testing.T) {
			all := journeysOf(c.finished, c.arrivals)
			require.Len(t, all, len(c.finished)+len(c.waiting))
			assert.ElementsMatch(t, append(c.waiting, c.finished...), all)
		})
	}
}

func TestFiguresAreAboutTheLatestStretchAndWaitingAboutAll(t *testing.T) {
	var e EndpointState
	recent := e.summarize([]Journey{
		{Began: 1 * time.Second, Ended: 2 * time.Second}, // long ago
		{Began: 2 * time.Second},
		{Began: 7 * time.Second, Ended: 8500 * ms}, // answered lately
		{Began: 8100 * ms, Ended: 8200 * ms},
		{Began: 9 * time.Second},
	}, 8*time.Second, 10*time.Second)
	assert.Equal(t, 2, recent)
	assert.Equal(t, 5, e.Placed)
	assert.Equal(t, 1.0, e.PerSecond)
	assert.Equal(t, 2, e.Answered)
	assert.Equal(t, 100*ms, e.P50)
	assert.Equal(t, 1500*ms, e.P95)
	assert.Equal(t, 2, e.Waiting)
	assert.Equal(t, 8*time.Second, e.Oldest)
}

func TestWithoutAnAnswerThereIsNoLatency(t *testing.T) {
	var e EndpointState
	e.summarize([]Journey{{Began: 1 * ms}}, 0, time.Second)
	assert.Zero(t, e.Answered)
	assert.Zero(t, e.P50)
}

func TestTheLongestWaitGrowsUntilTheAnswerComes(t *testing.T) {
	s := State{At: 3500 * ms, Endpoints: []EndpointState{{Journeys: []Journey{
		{Began: 200 * ms, Ended: 300 * ms},
		{Began: 1500 * ms, Ended: 3100 * ms},
		{Began: 3200 * ms}, // waits
	}}}}
	assert.Equal(t, []time.Duration{100 * ms, 500 * ms, 1500 * ms, 1600 * ms, 0, 0}, s.Longest(0, 6*time.Second, 6))
	assert.Equal(t, []time.Duration{1600 * ms, 0}, s.Longest(0, 8*time.Second, 2))
	assert.Equal(t, []time.Duration{0, 0}, s.Longest(0, 0, 2), "no time, no wait")
}

func TestTheLatestStretchBeginsAtTheLastChange(t *testing.T) {
	plan, err := NewPlan(10)
	require.NoError(t, err)
	require.Greater(t, plan.recent(), time.Second)
	at := func(second float64, kind EventKind) Event {
		return Event{At: time.Duration(second * float64(time.Second)), Kind: kind}
	}
	for name, c := range map[string]struct {
		now    time.Duration
		events []Event
		want   time.Duration
	}{
		"at the start":        {500 * ms, nil, 0},
		"long after a change": {10 * time.Second, []Event{at(5, EventFault)}, 10*time.Second - plan.recent()},
		"soon after it":       {10 * time.Second, []Event{at(9.2, EventFault)}, 9200 * ms},
		"right after it":      {10 * time.Second, []Event{at(9.9, EventFault)}, 9500 * ms},
		"a line of the log":   {10 * time.Second, []Event{at(9.2, EventLog)}, 10*time.Second - plan.recent()},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, recentFrom(plan, c.events, c.now))
		})
	}
}
