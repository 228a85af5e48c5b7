package simenvoy

import (
	"context"
	"time"
)

// clock tells the time of the run: what the file calls moments and durations. It goes faster than
// the wall's by the scale.
type clock struct {
	zero  time.Time // when the run began
	scale int
}

func (c clock) now() time.Duration { return c.moment(time.Now()) }

// moment is the moment of the run at a time.
func (c clock) moment(at time.Time) time.Duration { return c.virtual(at.Sub(c.zero)) }

// at is the time of a moment of the run.
func (c clock) at(moment time.Duration) time.Time { return c.zero.Add(c.real(moment)) }

// virtual is how much of the run passes in a duration.
func (c clock) virtual(took time.Duration) time.Duration { return took * time.Duration(c.scale) }

// real is how long it takes until that much of the run has passed.
func (c clock) real(took time.Duration) time.Duration { return took / time.Duration(c.scale) }

// wait waits for a moment of the run; sim.Never never comes. The error is the context's.
func (c clock) wait(ctx context.Context, moment time.Duration) error {
	timer := time.NewTimer(time.Until(c.at(moment)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
