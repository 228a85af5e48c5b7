package simenvoy

import (
	"fmt"
	"time"

	"endpoint-breaker/internal/sim"
)

// A run on a real Envoy is not exact, for two reasons. Everything takes its time, on its way and
// on a machine that has other things to do: that is measured (lag), and taken twice, for what
// cannot be measured is not later. And the plugin does not look at requests in flight more often
// than every 100ms, which at scale 20 are 2s of the file, so that each block begins later by up
// to the difference to the file's check interval. Package sim says how a run with a tolerance is
// judged.

const (
	// leastLag is what cannot be measured even when everything seems to be in time.
	leastLag = 20 * time.Millisecond
	// mostLag is where a machine is too busy to tell.
	mostLag = 500 * time.Millisecond
)

// BusyError tells that the machine was too busy for a verdict. Another time it may not be.
type BusyError struct {
	Late time.Duration
	What string // was so late
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("this machine is too busy: %s was %s late; should be at most %s", e.What, e.Late.Round(time.Millisecond), mostLag)
}

func (p *Player) tolerance(r *sim.Result) (sim.Tolerance, error) {
	lag, what := p.lag(r)
	if lag > mostLag {
		return sim.Tolerance{}, &BusyError{lag, what}
	}
	inTheFile, here := checkInterval(p.scenario.Plugin), checkInterval(scaled(p.scenario.Plugin, p.options.Scale))
	return sim.Tolerance{Base: p.clock.virtual(2 * max(lag, leastLag)), Round: p.clock.virtual(here) - inTheFile}, nil
}

// lag is the largest delay of a request on its way to its endpoint, of an answer, and of an event,
// and whose it is.
func (p *Player) lag(r *sim.Result) (lag time.Duration, what string) {
	lag, what = p.endpoints.late(), "an answer"
	for _, q := range r.Requests {
		if late := p.clock.real(q.Chosen - q.Arrived); q.Chosen != sim.Never && late > lag {
			lag, what = late, fmt.Sprintf("request %d, at %s,", q.Number, q.Arrived)
		}
	}
	for _, c := range p.changes {
		if c.late > lag {
			lag, what = c.late, fmt.Sprintf("an event, at %s,", c.at)
		}
	}
	return lag, what
}
