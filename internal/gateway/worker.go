package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// vm is what the gateway needs of a *wasmhost.Worker.
type vm interface {
	TickPeriod() time.Duration
	Tick() error
	Pending() int
	Deliver() error
	Trapped() error
	NewStream(route wasmhost.Route) (stream, error)
}

// stream is what the gateway needs of a *wasmhost.Stream.
type stream interface {
	RequestHeaders(headers wasmhost.Headers, endStream bool) (wasmhost.Flow, error)
	RequestData(chunk []byte, endStream bool) (wasmhost.Flow, error)
	RequestTrailers(trailers wasmhost.Headers) (wasmhost.Flow, error)
	RequestHeadersNow() wasmhost.Headers
	Released() bool
	OverrideHost() string
	SetUpstream(address string, attempt uint64)
	SetResponseDetails(details string, flags uint64)
	ResponseHeaders(headers wasmhost.Headers, endStream bool) (wasmhost.Flow, error)
	ResponseData(chunk []byte, endStream bool) (wasmhost.Flow, error)
	ResponseTrailers(trailers wasmhost.Headers) (wasmhost.Flow, error)
	ResponseHeadersNow() wasmhost.Headers
	RequestTrailersNow() wasmhost.Headers
	ResponseTrailersNow() wasmhost.Headers
	ResponseReleased() bool
	TakeRequestBody() (data []byte, ended bool)
	TakeResponseBody() (data []byte, ended bool)
	LocalReply() *wasmhost.LocalReply
	WasReset() bool
	Close() error
}

type pluginVM struct{ *wasmhost.Worker }

func (v pluginVM) NewStream(route wasmhost.Route) (stream, error) {
	s, err := v.Worker.NewStream(route)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// worker stands for one Envoy worker thread: whoever holds the lock is the thread, and
// must not wait for the network.
type worker struct {
	index int

	mu      sync.Mutex
	vm      vm // guarded by mu, and with it all streams of this VM
	open    map[*exchange]struct{}
	changed chan struct{} // closed and replaced after each tick and each delivery
}

func newWorker(index int, vm vm) *worker {
	return &worker{index: index, vm: vm, open: map[*exchange]struct{}{}, changed: make(chan struct{})}
}

// nextChange is closed after the next tick, or the next answer to a call of the plugin: either may
// have resumed any stream.
func (w *worker) nextChange() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// change tells all who wait, and stops the exchanges that the plugin has ended. It must run with the
// lock held.
func (w *worker) change() {
	close(w.changed)
	w.changed = make(chan struct{})
	for x := range w.open {
		x.stopIfEnded()
	}
}

// tick runs one tick, and returns the period until the next one; 0 = no more.
func (w *worker) tick() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.vm.Tick()
	w.change()
	if err != nil {
		return 0 // trapped: a dead VM does not tick
	}
	return w.vm.TickPeriod()
}

func (w *worker) tickPeriod() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.vm.TickPeriod()
}

// settle hands the plugin the answers to its calls until none waits. What an answer makes it ask
// comes after whatever else waits for the worker.
func (w *worker) settle(ctx context.Context) {
	for ctx.Err() == nil && w.deliver() {
		continue
	}
}

// deliver reports whether more answers wait.
func (w *worker) deliver() (more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.vm.Pending() == 0 || w.vm.Trapped() != nil {
		return false
	}
	err := w.vm.Deliver()
	w.change()
	return err == nil && w.vm.Pending() > 0
}

type workerKey struct{}

// pin gives each new connection the next worker; the connection stays there, as
// Envoy's do.
func (g *Gateway) pin(ctx context.Context, _ net.Conn) context.Context {
	i := (g.next.Add(1) - 1) % uint64(len(g.workers))
	return context.WithValue(ctx, workerKey{}, g.workers[i])
}

func pinnedWorker(r *http.Request) *worker {
	w, _ := r.Context().Value(workerKey{}).(*worker)
	return w
}

// startTicks ticks the workers and the base VM, each at the period it asked for. Answers to calls
// that were made at the start come first.
func (g *Gateway) startTicks(base vm) {
	ctx, stop := context.WithCancel(context.Background())
	g.stopTicks = stop
	for _, w := range append([]*worker{newWorker(wasmhost.BaseVM, base)}, g.workers...) {
		g.ticks.Go(func() {
			w.settle(ctx)
			if period := w.tickPeriod(); period > 0 {
				w.tickEvery(ctx, period)
			}
		})
	}
}

func (w *worker) tickEvery(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		next := w.tick()
		if next == 0 {
			return
		}
		w.settle(ctx)
		if next != period {
			period = next
			ticker.Reset(period)
		}
	}
}
