package wasmhost

import "slices"

// Exchange is one HTTP request with its response, as all filters of its chain
// share it: the route, what the router knows, the properties, the one override
// and the one local reply. It is the part of a [Stream] and of a [ChainStream]
// that is the same.
type Exchange struct {
	filters []*Stream // in the order of the request
	routing

	override, atRouter string
	upstream           string
	attempt            uint64
	details            string
	flags              uint64
	given              map[string][]byte // SetProperty, HideProperty (nil value)
	state              map[string][]byte // filter state: set by the plugins
	reply              *LocalReply
	wasReset           bool
	closed             bool
}

func newExchange(table RouteTable) *Exchange {
	return &Exchange{
		routing: routing{table: table, cleared: true},
		given:   map[string][]byte{}, state: map[string][]byte{},
	}
}

// atUpstream is the filter next to the router, atClient the one next to the
// client.
func (e *Exchange) atUpstream() *Stream { return e.filters[len(e.filters)-1] }

func (e *Exchange) atClient() *Stream { return e.filters[0] }

// requestHeaders are the request's headers as they are now: those of the filter
// that has them last.
func (e *Exchange) requestHeaders() Headers {
	for _, s := range slices.Backward(e.filters) {
		if s.request.started {
			return s.request.headers
		}
	}
	return nil
}

// reachRouter is what the router does when the request's headers come to it. A
// request without a route gets the router's own 404.
func (e *Exchange) reachRouter() {
	e.atRouter = e.override
	e.refreshRoute(e.requestHeaders())
	e.pinned = true
	if !e.routed {
		e.sendLocalReply(LocalReply{
			StatusCode: statusNotFound, Details: detailsNoRoute, GRPCStatus: grpcUnset,
		})
	}
}

func (e *Exchange) reset() {
	e.wasReset = true
	for _, s := range e.filters {
		s.request.aborted, s.response.aborted = true, true
	}
}

// Released tells whether the request's headers have reached the router.
func (e *Exchange) Released() bool { return e.atUpstream().request.released }

// ResponseReleased tells whether the response's headers have left for the
// client.
func (e *Exchange) ResponseReleased() bool { return e.atClient().response.released }

// OverrideHost is the host that a plugin asked for last, as read when the
// request headers reached the router; "" for none. Whether it exists is for the
// router to see, and it counts for the first attempt only.
func (e *Exchange) OverrideHost() string { return e.atRouter }

// SetUpstream says what the router knows from now on: the host of the current
// attempt, "" for none yet, and the number of attempts.
func (e *Exchange) SetUpstream(address string, attempt uint64) {
	e.upstream, e.attempt = address, attempt
}

// SetResponseDetails sets the properties response.code_details and
// response.flags.
func (e *Exchange) SetResponseDetails(details string, flags uint64) {
	e.details, e.flags = details, flags
}

// SetProperty sets a property, with the parts of its path joined by ".". It
// overrides what the host knows itself. IntegerProperty encodes numbers.
func (e *Exchange) SetProperty(path string, value []byte) {
	e.given[path] = append([]byte{}, value...)
}

// HideProperty makes a property unknown, as on a gateway that does not have it.
func (e *Exchange) HideProperty(path string) { e.given[path] = nil }

// Property gives a property as the plugins left it with proxy_set_property,
// such as what they write to the access log.
func (e *Exchange) Property(name string) ([]byte, bool) {
	value, found := e.state[name]
	return append([]byte(nil), value...), found
}

// RequestHeadersNow gives the request's headers as they are now: when it has
// been released, as the router has them.
func (e *Exchange) RequestHeadersNow() Headers { return e.requestHeaders().clone() }

// RequestTrailersNow gives the request's trailers as the last filter left them.
func (e *Exchange) RequestTrailersNow() Headers { return e.atUpstream().request.trailers.clone() }

// ResponseHeadersNow gives the response's headers, or the local reply's, as the
// filter next to the client left them.
func (e *Exchange) ResponseHeadersNow() Headers { return e.atClient().response.headers.clone() }

// ResponseTrailersNow gives the response's trailers as the filter next to the
// client left them.
func (e *Exchange) ResponseTrailersNow() Headers { return e.atClient().response.trailers.clone() }

// TakeRequestBody hands out the body bytes that have reached the router since
// the last call, and whether the request has ended there. Bytes that nobody
// takes are kept until the exchange is closed and dropped.
func (e *Exchange) TakeRequestBody() (data []byte, ended bool) { return e.atUpstream().request.take() }

// TakeResponseBody is TakeRequestBody for what has left for the client.
func (e *Exchange) TakeResponseBody() (data []byte, ended bool) { return e.atClient().response.take() }

// LocalReply is the answer that came from a filter, or from the router when it
// has no route; nil for none.
func (e *Exchange) LocalReply() *LocalReply {
	if e.reply == nil {
		return nil
	}
	reply := *e.reply
	reply.Headers = e.ResponseHeadersNow()
	return &reply
}

// WasReset tells whether the exchange was reset: a plugin closed it, or replied
// when the response was on its way to the client already.
func (e *Exchange) WasReset() bool { return e.wasReset }

// Close ends the exchange, finished or not, once; more calls do nothing. The
// order of the callbacks is Envoy's (doDeferredStreamDestroy in
// source/common/http/conn_manager_impl.cc, then onDestroy of the Wasm filter):
// proxy_on_log of every filter, then proxy_on_done and proxy_on_delete of each.
// A filter that never saw the request's headers is created first, as Envoy's
// access log does.
func (e *Exchange) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	e.showFinalHeaders()
	for _, s := range e.filters {
		s.log()
	}
	for _, s := range e.filters {
		s.destroy()
	}
	return nil
}

// showFinalHeaders gives every filter what the access log sees, whatever has
// come to the filter before: one request and one response.
func (e *Exchange) showFinalHeaders() {
	request, client := e.requestHeaders(), &e.atClient().response
	for _, s := range e.filters {
		s.request.headers = request
		if client.released {
			s.response.started, s.response.headers = true, client.headers
			s.response.hasTrailers, s.response.trailers = client.hasTrailers, client.trailers
		}
	}
}
