package modelserver

import (
	"context"
	"sync"
	"time"
)

// health is the server's state now: well, slow, or hanging.
type health struct {
	mu    sync.Mutex
	fault *fault // nil = well
}

// fault is one bad spell; the requests that arrive during it wait on it.
type fault struct {
	delay  time.Duration // hang is set: unused
	hang   bool
	healed chan struct{}
}

// SlowDown makes each request that arrives from now on wait for delay before its
// first token; the tokens then come at the usual pace. Requests that are already
// being served keep their pace. It replaces a fault that is there.
func (s *Server) SlowDown(delay time.Duration) {
	s.health.begin(&fault{delay: delay})
}

// Hang makes each request that arrives from now on wait until Heal, or until its
// client leaves. It replaces a fault that is there.
func (s *Server) Hang() {
	s.health.begin(&fault{hang: true})
}

// Heal ends the fault. Requests that still wait are served from now on at the usual
// pace, as on a GPU host whose card is no longer throttled: what is queued gets
// its turn, it does not sit out the time it would have taken before.
func (s *Server) Heal() { s.health.begin(nil) }

// Slow tells whether a request that arrives now has to wait.
func (s *Server) Slow() bool { return s.health.now() != nil }

// begin replaces the state. Who waits on a fault that another one replaces goes on
// waiting for the same heal.
func (h *health) begin(f *fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.fault != nil && f != nil:
		f.healed = h.fault.healed
	case h.fault != nil:
		close(h.fault.healed)
	case f != nil:
		f.healed = make(chan struct{})
	}
	h.fault = f
}

func (h *health) now() *fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// wait returns when the fault, if there is one, lets the request go on.
func (f *fault) wait(ctx context.Context) error {
	if f == nil {
		return ctx.Err()
	}
	var late <-chan time.Time
	if !f.hang {
		timer := time.NewTimer(f.delay)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-late:
		return nil
	case <-f.healed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
