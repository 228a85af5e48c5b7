package modelserver

import (
	"context"
	"sync"
	"time"
)

// health is the server's state now: well, or with a fault.
type health struct {
	mu    sync.Mutex
	fault *fault // nil = well
}

// fault is one bad spell; the requests that arrive during it wait on it, once.
type fault struct {
	token       int // the one that is held back; the first is 0
	streamsOnly bool
	delay       time.Duration
	endless     bool // no delay, the heal alone ends it
	healed      chan struct{}
}

// SlowDown makes each request that arrives from now on wait for delay before its
// first token; the tokens then come at the usual pace. Requests that are already
// being served keep their pace, and those that already wait keep the delay they
// arrived with: called again and again with more, it makes a server that slows down
// by degrees. It replaces a fault that is there.
func (s *Server) SlowDown(delay time.Duration) {
	s.health.begin(&fault{delay: delay})
}

// Hang makes each request that arrives from now on wait until Heal, or until its
// client leaves. It replaces a fault that is there.
func (s *Server) Hang() {
	s.health.begin(&fault{endless: true})
}

// Stall makes each stream that arrives from now on stop in its middle: headers and the
// first tokens come at the usual pace, then nothing until Heal, or until its client
// leaves. A stream that has no more tokens than that ends as usual. An answer in one
// piece has no middle that a client could see, and comes as usual. With 0 tokens only
// the headers come. It replaces a fault that is there.
func (s *Server) Stall(tokens int) {
	s.health.begin(&fault{token: tokens, streamsOnly: true, endless: true})
}

// Heal ends the fault. Requests that still wait are served from now on at the usual
// pace, as on a GPU host whose card is no longer throttled: what is queued gets
// its turn, it does not sit out the time it would have taken before.
func (s *Server) Heal() { s.health.begin(nil) }

// Slow tells whether a fault is there: SlowDown, Hang or Stall without a Heal since.
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

// holds tells whether the token has to wait; without a fault none has.
func (f *fault) holds(token int, stream bool) bool {
	return f != nil && token == f.token && (stream || !f.streamsOnly)
}

// wait returns nil when the fault lets the request go on.
func (f *fault) wait(ctx context.Context) error {
	var late <-chan time.Time
	if !f.endless {
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
