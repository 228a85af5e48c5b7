package main

import "time"

// instant is a moment of the host's monotonic clock in nanoseconds. All VMs of a process
// read the same clock, so an instant means the same in every worker and in SharedData; it
// means nothing to another process or to people. The zero instant stands for "unknown".
// (docs/design.md, Behavior 1.)
type instant int64

// unknown is an instant that was never taken, or a clock that could not be read.
const unknown instant = 0

// add returns the instant d later.
func (t instant) add(d time.Duration) instant { return t + instant(d) }

// since returns the time that has passed from earlier to t; negative if earlier is later.
func (t instant) since(earlier instant) time.Duration { return time.Duration(t - earlier) }
