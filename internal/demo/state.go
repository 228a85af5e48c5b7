package demo

import (
	"fmt"
	"slices"
	"time"
)

// State is the story at one moment, for those who tell or show it while it is played.
// It is a snapshot: nobody changes it any more. The judge does not look at it.
type State struct {
	Setting   Setting
	At        time.Duration // since the start of the load
	Endpoints []EndpointState
	Counters  Counters
	Events    []Event // so far, in order
}

// Setting is what does not change during the story.
type Setting struct {
	Plan    Plan
	Gateway Gateway
	URL     string  // where the clients call
	Workers int     // of the gateway
	Rate    float64 // requests per second, on average
	Slow    string  // the endpoint that turns slow
}

// EndpointState is one endpoint at one moment. Rates and latencies are those of the
// latest second or two; see Plan.recent.
type EndpointState struct {
	Name, Address string
	Phase         Phase // its own: Slow while it answers slowly and nobody keeps requests away
	Block         Block // the latest; zero = never blocked
	Placed        int   // requests that it got since the start
	PerSecond     float64
	Share         float64 // of the requests, 0 to 1
	Answered      int     // how many P50 and P95 are about; 0 = there are none
	P50, P95      time.Duration
	Waiting       int           // requests without an answer yet
	Oldest        time.Duration // how long the first of them has waited
	Journeys      []Journey     // all its requests since the start
}

// Counters are the plugin's own metrics of the cluster.
type Counters struct {
	Samples, Deduplicated, Stale int64
	Blocks, Overrides, Bypasses  int64
}

// Phase is the part of the story: that of the endpoint it is about.
func (s State) Phase() Phase { return s.slow().Phase }

// Event returns the first event of a kind.
func (s State) Event(kind EventKind) (Event, bool) {
	i := slices.IndexFunc(s.Events, func(e Event) bool { return e.Kind == kind })
	if i < 0 {
		return Event{}, false
	}
	return s.Events[i], true
}

// Next says what comes next, and when.
func (s State) Next() string {
	slow, plan := s.slow(), s.Setting.Plan
	in := func(moment time.Duration) string { return seconds(max(moment-s.At, 0)) }
	fault, _ := s.Event(EventFault)
	_, healed := s.Event(EventHeal)
	_, gaveUp := s.Event(EventGaveUp)
	switch {
	case gaveUp:
		return "the verdict"
	case slow.Phase == Healthy:
		return fmt.Sprintf("%s turns slow in %s", slow.Name, in(plan.Healthy))
	case slow.Phase == Slow && s.At < fault.At+plan.blockExpected():
		return fmt.Sprintf("the plugin has to find out; the block of %s is due in about %s", slow.Name, in(fault.At+plan.blockExpected()))
	case slow.Phase == Slow:
		return fmt.Sprintf("the block of %s is due; the demo gives up in %s", slow.Name, in(fault.At+plan.GiveUpAfter))
	case slow.Phase == Blocked && !healed:
		return fmt.Sprintf("%s heals in %s, its block ends in %s", slow.Name, in(slow.Block.Since+plan.HealAfter), in(slow.Block.Until))
	case slow.Phase == Blocked:
		return fmt.Sprintf("the block of %s ends in %s", slow.Name, in(slow.Block.Until))
	default:
		return "the verdict in " + in(slow.Block.Until+plan.Afterwards)
	}
}

func (s State) slow() EndpointState {
	i := slices.IndexFunc(s.Endpoints, func(e EndpointState) bool { return e.Name == s.Setting.Slow })
	if i < 0 {
		return EndpointState{Name: s.Setting.Slow}
	}
	return s.Endpoints[i]
}

// phaseOf is the phase of one endpoint: its blocks decide, then whether it is slow.
func phaseOf(latest Block, slow bool, now time.Duration) Phase {
	switch {
	case latest.Until > now:
		return Blocked
	case slow:
		return Slow
	case latest.Until > 0:
		return Returned
	default:
		return Healthy
	}
}
