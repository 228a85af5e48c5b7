package chaos

import (
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// plan is one request: what its client does and what its route allows.
type plan struct {
	headers  wasmhost.Headers
	body     bool
	upload   time.Duration // from the headers to the last byte
	trailers bool          // they end the request
	endless  bool          // nothing ends it

	contentType string // of the answer
	empty       bool   // the answer has no body: HEAD, 204
	streams     bool   // the answer is a stream of chunks
	grpc        bool

	leaves  time.Duration // after the request is complete; never = stays
	deserts time.Duration // after it began, complete or not; never = stays
	lingers time.Duration // reads what has come for that much longer

	filter *reply // another filter's, before any host has the request
	route  route
}

// reply is one that no host has made.
type reply struct {
	after           time.Duration
	status, details string
}

// route is what Envoy does with a request.
type route struct {
	within    time.Duration // what a healthy host needs at most
	timeout   time.Duration // from the request's end; 0 = none
	perTry    time.Duration // of each attempt, from the request's end; 0 = none
	duration  time.Duration // of each attempt, from its beginning; 0 = unlimited
	retries   int
	retry5xx  bool
	hedge     bool
	sameAgain bool // a retry may go to the host that has just failed
}

func (r random) plan(s setup) plan {
	p := plan{contentType: "application/json", leaves: never, deserts: never, route: r.route(s)}
	r.client(&p, s)
	switch x := r.Float64(); {
	case x < 0.35:
	case x < 0.65:
		p.streams = true
		p.contentType = oneOf(r, "text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream;charset=UTF-8", "application/x-ndjson")
	case x < 0.8:
		p.streams, p.grpc, p.contentType = true, true, oneOf(r, "application/grpc", "application/grpc+proto")
	case x < 0.9:
		p.empty = true
	}
	if r.chance(0.1) {
		p.lingers = r.between(0, 3, s.longest())
	}
	if r.chance(0.06) {
		p.filter = &reply{after: r.between(0, 3, s.longest()), status: "401", details: oneOf(r,
			"ext_authz_denied", "request_rate_limited", "direct_response", "no_healthy_upstream", "fault_filter_abort",
			"upstream_reset_before_response_started{overflow}")}
	}
	p.headers = r.requestHeaders(p)
	return p
}

// client draws how the request is sent and whether its client stays.
func (r random) client(p *plan, s setup) {
	p.body = r.chance(0.8)
	switch x := r.Float64(); {
	case !p.body || x < 0.75:
	case x < 0.9:
		p.upload = r.between(0.05, 0.5, s.shortest())
	case x < 0.985:
		p.upload = r.between(1, 3, s.longest())
	default:
		p.endless = true
		p.deserts = r.between(1, 5, s.longest())
	}
	p.trailers = p.body && r.chance(0.1)
	if !p.endless && r.chance(0.9) {
		p.deserts = 6 * s.longest() // nobody waits for ever, but for a few
	}
	const instant = 10 * time.Millisecond
	switch x := r.Float64(); {
	case x < 0.03:
		p.leaves = s.shortest() - instant
	case x < 0.05:
		p.leaves = s.threshold
	case x < 0.07:
		p.leaves = s.longest() + instant
	case x < 0.12:
		p.leaves = r.between(0, 3, s.longest())
	case x < 0.15:
		p.deserts = r.between(0, 3, s.longest())
	}
}

// route draws the retries and timeouts. No timeout is shorter than what a healthy host needs.
func (r random) route(s setup) route {
	patient, quick := s.patient(), min(s.patient(), s.quick())
	retries, retry5xx, again := 1+r.IntN(3), r.chance(0.5), r.chance(0.3)
	switch x := r.Float64(); {
	case x < 0.2:
		return route{within: patient}
	case x < 0.25:
		return route{within: quick, timeout: s.shortest() * 6 / 10}
	case x < 0.3:
		return route{within: patient, timeout: r.between(1.05, 3, s.longest())}
	case x < 0.42: // the threshold passes while several attempts have it one after another
		return route{within: quick, perTry: s.short(), retries: retries, retry5xx: retry5xx, sameAgain: again}
	case x < 0.56: // the second attempt has less than its share when the route's time is over
		return route{within: quick, perTry: s.short(), retries: retries, retry5xx: retry5xx, timeout: s.shortest() * 9 / 10}
	case x < 0.66: // the threshold passes in each attempt
		return route{within: patient, perTry: r.between(1.05, 1.5, s.longest()), retries: retries, retry5xx: retry5xx, sameAgain: again}
	case x < 0.75: // retries, but no timeout of an attempt
		return route{within: patient, retries: retries, retry5xx: true, timeout: oneOf(r, 0, 4*s.longest())}
	case x < 0.93: // several attempts have it at once
		return route{within: patient, perTry: r.between(0.2, 1.5, s.longest()), retries: 1, hedge: true, timeout: oneOf(r, 0, 5*s.longest())}
	default: // the upload uses most of it up
		return route{within: patient, duration: r.between(1, 3, s.longest())}
	}
}

func (r random) requestHeaders(p plan) wasmhost.Headers {
	method, contentType := "POST", "application/json"
	switch {
	case !p.body && p.empty:
		method = "HEAD"
	case !p.body:
		method = "GET"
	case p.grpc:
		contentType = p.contentType
	}
	headers := wasmhost.Headers{
		{":method", method}, {":path", "/v1/chat/completions"}, {":authority", "llm.example"}, {":scheme", "http"},
	}
	if p.body {
		headers = append(headers, [2]string{"content-type", contentType})
	}
	if p.body && !p.grpc && r.chance(0.03) {
		headers = append(headers, [2]string{"expect", "100-continue"})
	}
	return headers
}
