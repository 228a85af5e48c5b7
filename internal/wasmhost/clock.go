package wasmhost

import (
	"sync"
	"time"
)

// Clock is where the guests' time comes from. All VMs of a plugin read the same
// one, so it must be safe for concurrent use.
type Clock interface {
	// Monotonic is WASI clock 1: it never goes back.
	Monotonic() time.Duration
	// Wall is WASI clock 0: it may jump.
	Wall() time.Time
	// Sleep is called when a guest sleeps inside a callback. It must move
	// Monotonic on by at least d before it returns, else the guest waits for ever.
	Sleep(d time.Duration)
}

// VirtualClock stands still until somebody moves it. It is safe for concurrent
// use.
type VirtualClock struct {
	mu        sync.Mutex
	monotonic time.Duration
	wall      time.Time
}

// NewVirtualClock returns a clock that shows the given times.
func NewVirtualClock(monotonic time.Duration, wall time.Time) *VirtualClock {
	return &VirtualClock{monotonic: monotonic, wall: wall}
}

// Monotonic implements Clock.
func (c *VirtualClock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monotonic
}

// Wall implements Clock.
func (c *VirtualClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Advance moves both clocks on. A negative duration moves nothing, because a
// monotonic clock cannot go back.
func (c *VirtualClock) Advance(d time.Duration) {
	if d <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.monotonic += d
	c.wall = c.wall.Add(d)
}

// JumpWall moves the wall clock alone, in either direction, as an operator or
// NTP does.
func (c *VirtualClock) JumpWall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

// Sleep implements Clock: the time that a guest sleeps passes at once, for
// every VM on this clock.
func (c *VirtualClock) Sleep(d time.Duration) { c.Advance(d) }

// realClockStart is what RealClock's monotonic side shows at first. A gateway's
// machine has been up for a while; a guest should not meet times near zero in
// real time only.
const realClockStart = time.Hour

type realClock struct{ started time.Time }

// RealClock returns the machine's clocks. The monotonic side counts from one
// hour at the moment of this call, so hand one RealClock to everything that
// must agree on it.
func RealClock() Clock { return realClock{started: time.Now()} }

func (c realClock) Monotonic() time.Duration { return realClockStart + time.Since(c.started) }
func (c realClock) Wall() time.Time          { return time.Now() }
func (c realClock) Sleep(d time.Duration)    { time.Sleep(d) }
