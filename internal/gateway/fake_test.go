package gateway

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// fakeVM is a plugin in plain Go. It fails the test when two callbacks run at once.
type fakeVM struct {
	t       *testing.T
	period  time.Duration
	onTick  func() error
	plugin  fakePlugin
	streams []*fakeStream
	running atomic.Bool

	pending   int // calls whose answers wait
	onDeliver func() error
}

// fakePlugin is what the streams of a fakeVM do; nil = let pass.
type fakePlugin struct {
	requestHeaders  func(*fakeStream, bool) wasmhost.Flow
	requestData     func(*fakeStream, []byte, bool) wasmhost.Flow
	responseHeaders func(*fakeStream) wasmhost.Flow
	responseData    func(*fakeStream, []byte, bool) wasmhost.Flow
}

func (v *fakeVM) alone() func() {
	if !v.running.CompareAndSwap(false, true) {
		v.t.Error("two callbacks of one worker at once")
	}
	return func() { v.running.Store(false) }
}

func (v *fakeVM) TickPeriod() time.Duration { return v.period }

func (v *fakeVM) Tick() error {
	defer v.alone()()
	if v.onTick == nil {
		return nil
	}
	return v.onTick()
}

func (v *fakeVM) Pending() int { return v.pending }

func (v *fakeVM) Trapped() error { return nil }

func (v *fakeVM) Deliver() error {
	defer v.alone()()
	v.pending = 0
	if v.onDeliver == nil {
		return nil
	}
	return v.onDeliver()
}

func (v *fakeVM) each(act func(*fakeStream)) {
	for _, s := range v.streams {
		act(s)
	}
}

func (v *fakeVM) NewStream(route wasmhost.Route) (stream, error) {
	defer v.alone()()
	s := &fakeStream{vm: v, route: route}
	v.streams = append(v.streams, s)
	return s, nil
}

// fakeStream passes everything unless its plugin says otherwise.
type fakeStream struct {
	vm       *fakeVM
	route    wasmhost.Route
	override string
	upstream string
	details  string
	flags    uint64
	reply    *wasmhost.LocalReply
	wasReset bool
	closed   int

	request, response fakeHalf
}

type fakeHalf struct {
	headers, trailers wasmhost.Headers
	stopped, released bool
	held, out         []byte
	ended             bool
}

// take puts a piece behind what is held, and lets all of it go unless it is stopped.
func (h *fakeHalf) take(flow wasmhost.Flow, chunk []byte, end bool) (wasmhost.Flow, error) {
	h.held = append(h.held, chunk...)
	h.ended = end
	h.stopped = flow != wasmhost.FlowContinue
	if !h.stopped {
		h.resume()
	}
	return flow, nil
}

func (h *fakeHalf) resume() {
	h.stopped, h.released = false, true
	h.out, h.held = append(h.out, h.held...), nil
}

func (h *fakeHalf) takeOut() ([]byte, bool) {
	out := h.out
	h.out = nil
	return out, h.ended && !h.stopped
}

func (s *fakeStream) RequestHeaders(h wasmhost.Headers, endStream bool) (wasmhost.Flow, error) {
	defer s.vm.alone()()
	s.request.headers = h
	flow := wasmhost.FlowContinue
	if s.vm.plugin.requestHeaders != nil {
		flow = s.vm.plugin.requestHeaders(s, endStream)
	}
	return s.request.take(flow, nil, endStream)
}

func (s *fakeStream) RequestData(chunk []byte, endStream bool) (wasmhost.Flow, error) {
	defer s.vm.alone()()
	flow := wasmhost.FlowContinue
	if s.vm.plugin.requestData != nil {
		flow = s.vm.plugin.requestData(s, chunk, endStream)
	}
	return s.request.take(flow, chunk, endStream)
}

func (s *fakeStream) RequestTrailers(h wasmhost.Headers) (wasmhost.Flow, error) {
	defer s.vm.alone()()
	s.request.trailers = h
	return s.request.take(wasmhost.FlowContinue, nil, true)
}

func (s *fakeStream) ResponseHeaders(h wasmhost.Headers, endStream bool) (wasmhost.Flow, error) {
	defer s.vm.alone()()
	s.response.headers = h
	flow := wasmhost.FlowContinue
	if s.vm.plugin.responseHeaders != nil {
		flow = s.vm.plugin.responseHeaders(s)
	}
	return s.response.take(flow, nil, endStream)
}

func (s *fakeStream) ResponseData(chunk []byte, endStream bool) (wasmhost.Flow, error) {
	defer s.vm.alone()()
	flow := wasmhost.FlowContinue
	if s.vm.plugin.responseData != nil {
		flow = s.vm.plugin.responseData(s, chunk, endStream)
	}
	return s.response.take(flow, chunk, endStream)
}

func (s *fakeStream) ResponseTrailers(h wasmhost.Headers) (wasmhost.Flow, error) {
	defer s.vm.alone()()
	s.response.trailers = h
	return s.response.take(wasmhost.FlowContinue, nil, true)
}

func (s *fakeStream) Close() error {
	defer s.vm.alone()()
	s.closed++
	return nil
}

func (s *fakeStream) Released() bool                        { return s.request.released }
func (s *fakeStream) ResponseReleased() bool                { return s.response.released }
func (s *fakeStream) TakeRequestBody() ([]byte, bool)       { return s.request.takeOut() }
func (s *fakeStream) TakeResponseBody() ([]byte, bool)      { return s.response.takeOut() }
func (s *fakeStream) RequestHeadersNow() wasmhost.Headers   { return s.request.headers }
func (s *fakeStream) ResponseHeadersNow() wasmhost.Headers  { return s.response.headers }
func (s *fakeStream) RequestTrailersNow() wasmhost.Headers  { return s.request.trailers }
func (s *fakeStream) ResponseTrailersNow() wasmhost.Headers { return s.response.trailers }
func (s *fakeStream) OverrideHost() string                  { return s.override }
func (s *fakeStream) SetUpstream(address string, _ uint64)  { s.upstream = address }
func (s *fakeStream) LocalReply() *wasmhost.LocalReply      { return s.reply }
func (s *fakeStream) WasReset() bool                        { return s.wasReset }
func (s *fakeStream) SetResponseDetails(d string, f uint64) { s.details, s.flags = d, f }

func (s *fakeStream) replies(status uint32, body string) wasmhost.Flow {
	s.reply = &wasmhost.LocalReply{
		StatusCode: status, Body: []byte(body), Details: "fake",
		Headers: wasmhost.Headers{{":status", strconv.Itoa(int(status))}},
	}
	return wasmhost.FlowReplied
}

// steppingClock moves by one nanosecond at each look, so that every order shows.
type steppingClock struct{ now atomic.Int64 }

func (c *steppingClock) Monotonic() time.Duration { return time.Duration(c.now.Add(1)) }
func (c *steppingClock) Wall() time.Time          { return time.Unix(0, c.now.Load()) }
func (c *steppingClock) Sleep(d time.Duration)    { c.now.Add(int64(d)) }

// accessLog collects entries; next waits for the next one.
type accessLog struct{ entries chan Access }

func newAccessLog() *accessLog { return &accessLog{entries: make(chan Access, 10_000)} }

func (l *accessLog) add(a Access) { l.entries <- a }

func (l *accessLog) next(t *testing.T) Access {
	t.Helper()
	select {
	case entry := <-l.entries:
		return entry
	case <-time.After(10 * time.Second):
		t.Fatal("no access log entry came")
		return Access{}
	}
}

// once closes a channel at its first call.
func once() (closed chan struct{}, closeIt func()) {
	closed = make(chan struct{})
	var o sync.Once
	return closed, func() { o.Do(func() { close(closed) }) }
}
