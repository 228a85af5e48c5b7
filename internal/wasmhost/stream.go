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

// Stream is one HTTP request and its response on their way through the plugin's
// filter. It belongs to its worker: one goroutine at a time. Its methods return
// errors only for calls in an impossible order; a trap shows in
// Worker.Trapped and in what the fail policy makes of the stream.
type Stream struct {
	worker *Worker
	root   *root
	id     uint32
	route  Route

	request, response half

	absent     bool // the VM was dead before, under FailOpen: no filter
	created    bool // the guest knows the context
	logging    bool // proxy_on_log is running
	closed     bool
	wasReset   bool
	replyAsked bool
	reply      *LocalReply

	override, atRouter string
	keepRoute          bool // clear_route_cache=off
	routeCleared       bool
	upstream           string
	attempt            uint64
	details            string
	flags              uint64
	given              map[string][]byte // SetProperty, HideProperty (nil value)
	state              map[string][]byte // set by the plugin
	started            time.Duration
	startedAt          time.Time
	duration           time.Duration
}

// NewStream begins a stream on this worker. It must be closed. The base VM
// takes none.
func (w *Worker) NewStream(r Route) (*Stream, error) {
	if w.index == BaseVM {
		return nil, errors.New("the base VM runs on the main thread and takes no streams: use a worker")
	}
	s := &Stream{
		worker: w, root: w.serving, id: w.newID(), route: r,
		absent:    w.dead() && w.plugin.options.FailPolicy == FailOpen,
		given:     map[string][]byte{},
		state:     map[string][]byte{},
		started:   w.plugin.options.Clock.Monotonic(),
		startedAt: w.plugin.options.Clock.Wall(),
	}
	s.request = half{stream: s, headersCallback: onRequestHeaders, dataCallback: onRequestBody, trailersCall: onRequestTrailers}
	s.response = half{stream: s, headersCallback: onResponseHeaders, dataCallback: onResponseBody, trailersCall: onResponseTrailers}
	w.streams[s.id] = s
	s.root.streams++
	return s, nil
}

// ID is the stream's context id, as the guest sees it.
func (s *Stream) ID() uint32 { return s.id }

// RequestHeaders hands in the request's headers. The guest's context is created
// here.
func (s *Stream) RequestHeaders(h Headers, endStream bool) (Flow, error) {
	if s.closed || s.request.started {
		return 0, s.misuse("RequestHeaders")
	}
	s.create()
	if s.open(&s.request) {
		s.request.takeHeaders(h, endStream)
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

// Close ends the stream, finished or not, once; more calls do nothing. The
// order of the callbacks is Envoy's (doDeferredStreamDestroy in
// source/common/http/conn_manager_impl.cc, then onDestroy of the Wasm filter):
// proxy_on_log, proxy_on_done, proxy_on_delete. A stream whose request headers
// the filter never saw is created first, as Envoy's access log does.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	w := s.worker
	s.duration = w.plugin.options.Clock.Monotonic() - s.started
	s.create()
	if !s.absent {
		s.logging = true
		w.invoke(onLog, s.id)
		s.logging = false
		w.invoke(onDone, s.id)
		w.invoke(onDelete, s.id)
	}
	delete(w.streams, s.id)
	s.root.streams--
	w.finishIfIdle(s.root)
	return nil
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

func (s *Stream) reset() {
	s.wasReset = true
	s.request.aborted, s.response.aborted = true, true
}

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
