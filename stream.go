package main

import (
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
	"github.com/higress-group/wasm-go/pkg/wrapper"
)

// stream stands around the wrapper's context of one stream and tells the plugin when the
// request is complete and when the answer begins. Bodies are never read: their sizes tell.
type stream struct {
	types.HttpContext // the wrapper's: it finds the rule that matches

	plugin  *plugin
	request request
}

func (s *stream) OnHttpRequestHeaders(numHeaders int, endOfStream bool) types.Action {
	defer s.plugin.recovered("request_headers")
	if err := s.plugin.upstream.arriving(); err != nil {
		s.plugin.hostCallFailed(err, monotonicNow())
	}
	s.plugin.vm.current = s
	action := s.HttpContext.OnHttpRequestHeaders(numHeaders, endOfStream)
	s.plugin.vm.current = nil
	now, ok := s.begin()
	if !ok {
		return action
	}
	action = s.plugin.onRequest(&s.request, !endOfStream, now)
	if endOfStream {
		s.plugin.onComplete(&s.request, now)
	}
	return action
}

// begin reports whether the breaker has anything to do with this stream, and since when.
func (s *stream) begin() (now instant, ok bool) {
	r := s.request.rule
	if r == nil && len(s.plugin.settings.rules) == 0 {
		r = s.plugin.settings.global
	}
	s.request.rule = nil
	if r == nil || r.mode == modeOff || s.isTunnel() {
		return unknown, false
	}
	if now = monotonicNow(); now == unknown {
		return unknown, false
	}
	s.request.begin(r, now)
	return now, true
}

// isTunnel tells WebSocket and other upgrades of a GET, and CONNECT: they last as long as they
// last. For what most requests are, this costs no host call.
func (s *stream) isTunnel() bool {
	wrapped, ok := s.HttpContext.(wrapper.HttpContext)
	if !ok || wrapped.Method() != "GET" {
		return ok && wrapped.Method() == "CONNECT"
	}
	return s.header(proxywasm.GetHttpRequestHeader, "upgrade") != ""
}

// header reads a header; one that the host does not tell is counted and taken for missing.
func (s *stream) header(get func(string) (string, error), name string) string {
	value, err := header(get, name)
	if err != nil {
		s.plugin.hostCallFailed(err, monotonicNow())
	}
	return value
}

func (s *stream) OnHttpRequestBody(_ int, endOfStream bool) types.Action {
	defer s.plugin.recovered("request_body")
	if endOfStream && s.request.open() {
		s.plugin.onComplete(&s.request, monotonicNow())
	}
	return types.ActionContinue
}

// OnHttpRequestTrailers ends a request whose last body chunk did not.
func (s *stream) OnHttpRequestTrailers(int) types.Action {
	defer s.plugin.recovered("request_trailers")
	if s.request.open() {
		s.plugin.onComplete(&s.request, monotonicNow())
	}
	return types.ActionContinue
}

// OnHttpResponseHeaders does not ask the wrapper's, which would read two headers for callbacks
// that nobody has registered.
func (s *stream) OnHttpResponseHeaders(_ int, endOfStream bool) types.Action {
	defer s.plugin.recovered("response_headers")
	if s.request.rule == nil || !s.request.open() && !learnsFromAnswers {
		return types.ActionContinue
	}
	details, err := responseDetails()
	if err != nil {
		s.plugin.hostCallFailed(err, monotonicNow())
	}
	if s.request.open() {
		s.plugin.onResponse(&s.request, endingOf(details), s.countsFirstChunk(), endOfStream, monotonicNow())
	}
	if err := s.plugin.upstream.answered(&s.request, details); err != nil {
		s.plugin.hostCallFailed(err, monotonicNow())
	}
	return types.ActionContinue
}

// countsFirstChunk reports whether the answer is measured at its first chunk.
func (s *stream) countsFirstChunk() bool {
	switch s.request.rule.measure {
	case measureHeaders:
		return false
	case measureFirstChunk:
		return true
	default:
		return streams(s.header(proxywasm.GetHttpResponseHeader, "content-type"))
	}
}

func (s *stream) OnHttpResponseBody(size int, endOfStream bool) types.Action {
	defer s.plugin.recovered("response_body")
	s.received(size > 0, endOfStream)
	return types.ActionContinue
}

// OnHttpResponseTrailers ends a response that had no body.
func (s *stream) OnHttpResponseTrailers(int) types.Action {
	defer s.plugin.recovered("response_trailers")
	s.received(false, true)
	return types.ActionContinue
}

// received is told that the response goes on, or ends.
func (s *stream) received(bytes, ended bool) {
	switch {
	case !bytes && !ended:
	case s.request.expectsChunk():
		s.plugin.onChunk(&s.request, ended, monotonicNow())
	case s.request.streams() && ended:
		s.request.settle()
		s.plugin.inflight.forget(&s.request)
	case s.request.streams():
		if now := monotonicNow(); now != unknown {
			s.request.bytes(now)
		}
	}
}

func (s *stream) OnHttpStreamDone() {
	defer s.plugin.recovered("stream_done")
	if s.request.rule != nil {
		s.plugin.onDone(&s.request)
	}
}
