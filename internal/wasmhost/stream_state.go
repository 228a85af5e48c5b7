package wasmhost

// Released tells whether the request's headers have reached the router.
func (s *Stream) Released() bool { return s.request.released }

// ResponseReleased tells whether the response's headers have left for the
// client.
func (s *Stream) ResponseReleased() bool { return s.response.released }

// OverrideHost is the host that the plugin asked for, as read when the request
// headers reached the router; "" for none. Whether it exists is for the router
// to see, and it counts for the first attempt only.
func (s *Stream) OverrideHost() string { return s.atRouter }

// SetUpstream says what the router knows from now on: the host of the current
// attempt, "" for none yet, and the number of attempts.
func (s *Stream) SetUpstream(address string, attempt uint64) {
	s.upstream, s.attempt = address, attempt
}

// SetResponseDetails sets the properties response.code_details and
// response.flags.
func (s *Stream) SetResponseDetails(details string, flags uint64) {
	s.details, s.flags = details, flags
}

// SetProperty sets a property, with the parts of its path joined by ".". It
// overrides what the host knows itself. IntegerProperty encodes numbers.
func (s *Stream) SetProperty(path string, value []byte) {
	s.given[path] = append([]byte{}, value...)
}

// HideProperty makes a property unknown, as on a gateway that does not have it.
func (s *Stream) HideProperty(path string) { s.given[path] = nil }

// RequestHeadersNow gives the request's headers as the plugin left them.
func (s *Stream) RequestHeadersNow() Headers { return s.request.headers.clone() }

// RequestTrailersNow gives the request's trailers as the plugin left them.
func (s *Stream) RequestTrailersNow() Headers { return s.request.trailers.clone() }

// ResponseHeadersNow gives the response's headers, or the local reply's, as the
// plugin left them.
func (s *Stream) ResponseHeadersNow() Headers { return s.response.headers.clone() }

// ResponseTrailersNow gives the response's trailers as the plugin left them.
func (s *Stream) ResponseTrailersNow() Headers { return s.response.trailers.clone() }

// TakeRequestBody hands out the body bytes that have reached the router since
// the last call, and whether the request has ended there. Bytes that nobody
// takes are kept until the stream is closed and dropped.
func (s *Stream) TakeRequestBody() (data []byte, ended bool) { return s.request.take() }

// TakeResponseBody is TakeRequestBody for what has left for the client.
func (s *Stream) TakeResponseBody() (data []byte, ended bool) { return s.response.take() }

// LocalReply is the answer that came from the filter, nil for none.
func (s *Stream) LocalReply() *LocalReply {
	if s.reply == nil {
		return nil
	}
	reply := *s.reply
	reply.Headers = s.response.headers.clone()
	return &reply
}

// WasReset tells whether the stream was reset: the plugin closed it, or replied
// when the response was on its way to the client already.
func (s *Stream) WasReset() bool { return s.wasReset }

// RouteCacheCleared tells whether the plugin changed a request header while
// clear_route_cache was not off: Envoy would choose the route again.
func (s *Stream) RouteCacheCleared() bool { return s.routeCleared }

// Property gives a property as the plugin left it with proxy_set_property, such
// as what it writes to the access log.
func (s *Stream) Property(name string) ([]byte, bool) {
	value, found := s.state[name]
	return append([]byte(nil), value...), found
}
