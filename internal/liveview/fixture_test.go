package liveview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// The moments of the recorded story.
const (
	faultAt  = 5 * time.Second
	blockAt  = 12_600 * ms
	healAt   = 15_600 * ms
	returnAt = 17_100 * ms
)

// story is a recorded story as it stood at a moment: gpu-b turns slow at 5 s, is blocked
// from 12.6 s to 17.1 s, and heals at 15.6 s. Each endpoint gets a request every 100 ms.
func story(t *testing.T, now time.Duration) demo.State {
	t.Helper()
	plan, err := demo.NewPlan(10)
	require.NoError(t, err)
	s := demo.State{
		Setting: demo.Setting{Plan: plan, Gateway: demo.Envoy, URL: "http://127.0.0.1:40000", Workers: 2, Rate: 30, Slow: "gpu-b"},
		At:      now,
		Endpoints: []demo.EndpointState{
			{Name: "gpu-a", Address: "127.0.0.1:40001", Phase: demo.Healthy, PerSecond: 10, Share: 1. / 3, Answered: 10, P50: 150 * ms, P95: 240 * ms, Waiting: 2, Oldest: 130 * ms},
			{Name: "gpu-b", Address: "127.0.0.1:40002", Phase: demo.Healthy, PerSecond: 10, Share: 1. / 3, Answered: 10, P50: 152 * ms, P95: 235 * ms, Waiting: 1, Oldest: 90 * ms},
			{Name: "gpu-c", Address: "127.0.0.1:40003", Phase: demo.Healthy, PerSecond: 10, Share: 1. / 3, Answered: 10, P50: 149 * ms, P95: 238 * ms, Waiting: 1, Oldest: 40 * ms},
		},
	}
	for i := range s.Endpoints {
		s.Endpoints[i].Journeys = journeys(now, i == 1)
	}
	for _, event := range storyEvents() {
		if event.At <= now {
			s.Events = append(s.Events, event)
			happen(&s, event.Kind)
		}
	}
	return s
}

func storyEvents() []demo.Event {
	return []demo.Event{
		{At: faultAt, Kind: demo.EventFault, Text: "gpu-b turns slow: answers take 9.5s now, health checks stay green"},
		{At: blockAt, Kind: demo.EventLog, Text: `log of Envoy: endpoint-breaker block mode=enforce cluster="outbound|8000||llm.dns" endpoint=127.0.0.1:40002 for=4.5s strikes=1 reason=in_flight confirmed=2`},
		{At: blockAt, Kind: demo.EventBlock, Text: "the plugin blocks gpu-b until 17.1 s (reason in_flight, strike 1)"},
		{At: healAt, Kind: demo.EventHeal, Text: "gpu-b heals; the plugin cannot know yet"},
		{At: returnAt, Kind: demo.EventReturn, Text: "the block is over: gpu-b is an endpoint like any other again"},
	}
}

// happen is what an event changes.
func happen(s *demo.State, kind demo.EventKind) {
	a, b, c := &s.Endpoints[0], &s.Endpoints[1], &s.Endpoints[2]
	switch kind {
	case demo.EventFault:
		b.Phase, b.Answered, b.Waiting, b.Oldest = demo.Slow, 0, 31, s.At-faultAt
	case demo.EventBlock:
		b.Phase, b.PerSecond, b.Share, b.Waiting = demo.Blocked, 0, 0, 76
		b.Block = demo.Block{Endpoint: "gpu-b", Since: blockAt, Until: returnAt}
		a.PerSecond, a.Share, c.PerSecond, c.Share = 15, 0.5, 15, 0.5
		s.Counters = demo.Counters{Samples: 3, Deduplicated: 8, Stale: 21, Blocks: 1, Overrides: 48}
	case demo.EventHeal:
		b.Waiting, b.Oldest = 0, 0
	case demo.EventReturn:
		b.Phase, b.PerSecond, b.Share, b.Answered, b.Waiting = demo.Returned, 10, 1./3, 10, 1
		a.PerSecond, a.Share, c.PerSecond, c.Share = 10, 1./3, 10, 1./3
	case demo.EventLog, demo.EventGaveUp:
	}
}

func journeys(now time.Duration, turnsSlow bool) []demo.Journey {
	var all []demo.Journey
	for i, began := 0, time.Duration(0); began <= now; i, began = i+1, began+100*ms {
		j := demo.Journey{Began: began, Ended: began + 120*ms + time.Duration(i*7%5)*40*ms}
		switch {
		case turnsSlow && began >= blockAt && began < returnAt:
			continue
		case turnsSlow && began >= faultAt && began < blockAt:
			j.Ended = min(began+9500*ms, healAt+150*ms)
		}
		if j.Ended > now {
			j.Ended = 0
		}
		all = append(all, j)
	}
	return all
}
