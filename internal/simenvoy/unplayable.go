package simenvoy

import (
	"fmt"
	"time"

	"endpoint-breaker/internal/sim"
)

// UnplayableError says why a scenario makes no sense on a real Envoy.
type UnplayableError struct{ Reason string }

func (e *UnplayableError) Error() string { return e.Reason }

const (
	// maxPerSecond is what a small machine sends, passes on and answers without being late.
	maxPerSecond = 1000
	// maxInFlight bounds the requests that wait at the same time.
	maxInFlight = 8000
)

func playable(s *sim.Scenario, arrivals []sim.Arrival, o Options) error {
	if o.Scale < 1 || o.Scale > MaxScale {
		return fmt.Errorf("scale: given %d; should be 1 to %d", o.Scale, MaxScale)
	}
	for i, e := range s.Events {
		if why := unplayableEvent(e); why != "" {
			return &UnplayableError{fmt.Sprintf("events[%d]%s", i, why)}
		}
	}
	if most := mostIn(time.Duration(o.Scale)*time.Second, arrivals); most > maxPerSecond {
		return &UnplayableError{fmt.Sprintf("traffic: at scale %d, %d requests come in a second; should be at most %d", o.Scale, most, maxPerSecond)}
	}
	return nil
}

func unplayableEvent(e sim.Event) string {
	switch {
	case e.Fault != nil:
		return ".fault: a real Envoy makes no mistakes on demand"
	case e.WallJump != nil:
		return ".wall_jump: the clock of this machine is not moved"
	case e.Health != nil:
		return ".health: Envoy's own health checks are not played"
	default:
		return ""
	}
}

// mostIn is how many requests come at most in a time that is so long.
func mostIn(long time.Duration, arrivals []sim.Arrival) int {
	most, first := 0, 0
	for i, a := range arrivals {
		for a.At-arrivals[first].At >= long {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func tooManyInFlight(now time.Duration) error {
	return &UnplayableError{fmt.Sprintf("traffic: more than %d requests are in flight at %s", maxInFlight, now)}
}
