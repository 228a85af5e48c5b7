package wasmhost

import (
	"errors"
	"fmt"
	"time"
)

// Flow says what became of the piece of a stream that was just handed in.
type Flow int

// The ways on from the filter.
const (
	FlowContinue Flow = iota // it has left the filter
	FlowStopped              // the filter holds it
	FlowReplied              // a local reply has ended the request; see LocalReply
	FlowReset                // the stream was reset: the plugin closed it, or replied too late
)

// String gives the flow's name.
func (f Flow) String() string {
	names := [...]string{"continue", "stopped", "replied", "reset"}
	if f < 0 || int(f) >= len(names) {
		return fmt.Sprintf("flow %d", int(f))
	}
	return names[f]
}

// Stream is one HTTP request and its response on their way through one plugin's
// filter, which is alone in its chain unless a [Chain] has made it. It belongs
// to its worker: one goroutine at a time. Its methods return errors only for
// calls in an impossible order; a trap shows in Worker.Trapped and in what the
// fail policy makes of the stream.
type Stream struct {
	*Exchange
	worker *Worker
	root   *root
	id     uint32

	request, response half

	absent     bool // the VM was dead before, under FailOpen: no filter
	created    bool // the guest knows the context
	logging    bool // proxy_on_log is running
	replyAsked bool

	keepRoute    bool // clear_route_cache=off
	routeCleared bool
	started      time.Duration
	startedAt    time.Time
	duration     time.Duration
}

// NewStream begins a stream with a fixed route on this worker. It must be
// closed. The base VM takes none.
func (w *Worker) NewStream(r Route) (*Stream, error) { return w.NewRoutedStream(FixedRoute(r)) }

// NewRoutedStream begins a stream whose route is found in a table: when the
// request comes, and again after the plugin has cleared the route cache.
func (w *Worker) NewRoutedStream(table RouteTable) (*Stream, error) {
	if err := w.takesStreams(); err != nil {
		return nil, err
	}
	e := newExchange(table)
	return w.addFilter(e), nil
}

func (w *Worker) takesStreams() error {
	if w.index == BaseVM {
		return errors.New("the base VM runs on the main thread and takes no streams: use a worker")
	}
	return nil
}

// addFilter puts this worker's filter behind the others of the exchange: the
// request comes to it from the one before, the response goes there.
func (w *Worker) addFilter(e *Exchange) *Stream {
	s := &Stream{
		Exchange: e,
		worker:   w, root: w.serving, id: w.newID(),
		absent:    w.dead() && w.plugin.options.FailPolicy == FailOpen,
		started:   w.plugin.options.Clock.Monotonic(),
		startedAt: w.plugin.options.Clock.Wall(),
	}
	s.request = half{stream: s, headersCallback: onRequestHeaders, dataCallback: onRequestBody, trailersCall: onRequestTrailers}
	s.response = half{stream: s, headersCallback: onResponseHeaders, dataCallback: onResponseBody, trailersCall: onResponseTrailers}
	if len(e.filters) > 0 {
		before := e.atUpstream()
		before.request.next, s.response.next = &s.request, &before.response
	}
	e.filters = append(e.filters, s)
	w.streams[s.id] = s
	s.root.streams++
	return s
}

// ID is the stream's context id, as the guest sees it.
func (s *Stream) ID() uint32 { return s.id }

// RequestHeaders hands in the request's headers. The guest's context is created
// here.
func (s *Stream) RequestHeaders(h Headers, endStream bool) (Flow, error) {
	if s.closed || s.request.started {
		return 0, s.misuse("RequestHeaders")
	}
	if s.open(&s.request) {
		s.refreshRoute(h)
		s.request.enter(h, endStream)
	}
	return s.request.flow(), nil
}

// RequestData hands in a piece of the request's body, which may be empty.
func (s *Stream) RequestData(chunk []byte, endStream bool) (Flow, error) {
	if s.closed || !s.request.started || s.request.complete {
		return 0, s.misuse("RequestData")
	}
	if s.open(&s.request) {
		s.request.takeData(chunk, endStream)
	}
	return s.request.flow(), nil
}

// RequestTrailers hands in the request's trailers, which end it.
func (s *Stream) RequestTrailers(h Headers) (Flow, error) {
	if s.closed || !s.request.started || s.request.complete {
		return 0, s.misuse("RequestTrailers")
	}
	if s.open(&s.request) {
		s.request.takeTrailers(h)
	}
	return s.request.flow(), nil
}

// ResponseHeaders hands in the response's headers, from the upstream or from
// the gateway itself. When no details are set and the upstream's address is
// known, the details become via_upstream, as the router sets them.
func (s *Stream) ResponseHeaders(h Headers, endStream bool) (Flow, error) {
	if s.closed || s.response.started && s.reply == nil {
		return 0, s.misuse("ResponseHeaders")
	}
	if s.open(&s.response) {
		if s.details == "" && s.upstream != "" {
			s.details = "via_upstream"
		}
		s.response.takeHeaders(h, endStream)
	}
	return s.response.flow(), nil
}

// ResponseData hands in a piece of the response's body, which may be empty.
func (s *Stream) ResponseData(chunk []byte, endStream bool) (Flow, error) {
	if s.closed || s.reply == nil && (!s.response.started || s.response.complete) {
		return 0, s.misuse("ResponseData")
	}
	if s.open(&s.response) {
		s.response.takeData(chunk, endStream)
	}
	return s.response.flow(), nil
}

// ResponseTrailers hands in the response's trailers, which end it.
func (s *Stream) ResponseTrailers(h Headers) (Flow, error) {
	if s.closed || s.reply == nil && (!s.response.started || s.response.complete) {
		return 0, s.misuse("ResponseTrailers")
	}
	if s.open(&s.response) {
		s.response.takeTrailers(h)
	}
	return s.response.flow(), nil
}

// log shows the guest the finished stream.
func (s *Stream) log() {
	s.duration = s.worker.plugin.options.Clock.Monotonic() - s.started
	s.create()
	if s.absent {
		return
	}
	s.logging = true
	s.worker.invoke(onLog, s.id)
	s.logging = false
}

// destroy ends the guest's context.
func (s *Stream) destroy() {
	w := s.worker
	if !s.absent {
		w.invoke(onDone, s.id)
		w.invoke(onDelete, s.id)
	}
	delete(w.streams, s.id)
	s.root.streams--
	w.finishIfIdle(s.root)
}

func (s *Stream) create() {
	if s.created || s.absent {
		return
	}
	s.created = true
	s.worker.invoke(onContextCreate, s.id, uint64(s.root.id))
}

// open tells whether pieces of that direction still go through the filter.
func (s *Stream) open(h *half) bool { return s.reply == nil && !s.wasReset && !h.aborted }

// callback shows the guest one piece. A filter that is absent, that never saw
// the request, or whose VM is dead lets the piece go on; under FailClose a dead
// VM answers 503 first.
func (s *Stream) callback(name string, args ...uint64) outcome {
	w := s.worker
	if s.absent || !s.created {
		return outcome{}
	}
	result := w.invoke(name, s.id, args...)
	if !w.dead() {
		return result
	}
	if w.plugin.options.FailPolicy == FailClose {
		s.fail()
	}
	return outcome{}
}

func (s *Stream) misuse(method string) error {
	return fmt.Errorf("stream %d: %s does not fit: closed=%t, request started=%t complete=%t, response started=%t complete=%t",
		s.id, method, s.closed, s.request.started, s.request.complete, s.response.started, s.response.complete)
}

// RouteCacheCleared tells whether this filter's plugin changed a request header
// while clear_route_cache was not off.
func (s *Stream) RouteCacheCleared() bool { return s.routeCleared }
