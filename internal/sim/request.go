package sim

import (
	"net/http"
	"strconv"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// exchange is one request on its way through the plugin's filter, the router and
// an endpoint. Its steps, in this order: arrive, filtered, route, send, respond,
// end; a client that leaves or a route timeout may end it at any moment.
type exchange struct {
	*Request
	m       *simulation
	route   *Route
	cluster *cluster
	stream  *wasmhost.Stream

	target *endpoint // nil until the router has chosen
	sent   bool      // the endpoint has the whole request
	begun  bool      // response headers have passed
	done   bool
}

// Response flags and details as Envoy sets them (core_response_flag.h,
// stream_info.h).
const (
	flagNoHealthyUpstream = 0x2
	flagUpstreamTimeout   = 0x4
	flagClientLeft        = 0x4000
)

// arrive begins a request.
func (m *simulation) arrive(t *Traffic, worker int) error {
	route := m.scenario.route(t.Route)
	x := &exchange{
		m: m, route: route, cluster: m.clusters[route.Cluster],
		Request: &Request{
			Number: len(m.result.Requests) + 1, Traffic: t, Cluster: route.Cluster, Worker: worker,
			Arrived: m.now(), Complete: Never, Chosen: Never, FirstByte: Never, Ended: Never,
		},
	}
	m.result.Requests = append(m.result.Requests, x.Request)
	x.log("arrives on %s", route.Name)
	stream, err := m.plugin.Worker(worker).NewStream(wasmhost.Route{Name: route.Name, Cluster: route.Cluster, Hosts: x.cluster.list})
	if err != nil {
		return err
	}
	x.stream = stream
	m.inFlight++
	if err := tooManyInFlight(m.inFlight); err != nil {
		return err
	}
	if t.LeaveAfter != nil {
		x.later(m.now()+time.Duration(*t.LeaveAfter), x.leave)
	}
	return x.receive()
}

// receive passes the request through the filter: headers at once, a body as its
// upload goes.
func (x *exchange) receive() error {
	hasBody := x.Traffic.Method == http.MethodPost
	if _, err := x.stream.RequestHeaders(x.requestHeaders(), !hasBody); err != nil {
		return err
	}
	if err := x.filtered(!hasBody); err != nil || !hasBody || x.done {
		return err
	}
	upload := time.Duration(x.Traffic.Upload)
	if upload == 0 {
		return x.body(true)
	}
	x.later(x.m.now()+upload, func() error { return x.body(true) })
	return x.body(false)
}

func (x *exchange) body(last bool) error {
	if _, err := x.stream.RequestData([]byte(`{"prompt":"…"}`), last); err != nil {
		return err
	}
	return x.filtered(last)
}

// filtered goes on after a request callback: with the plugin's own reply, or to
// the router as soon as the filter has let the headers through.
func (x *exchange) filtered(complete bool) error {
	if complete {
		x.Complete = x.m.now()
	}
	if reply := x.stream.LocalReply(); reply != nil {
		return x.end(Refused, int(reply.StatusCode))
	}
	if x.stream.WasReset() {
		return x.end(Refused, 0)
	}
	if x.target == nil && x.stream.Released() {
		if err := x.choose(); err != nil || x.done {
			return err
		}
	}
	if x.Complete != Never && x.target != nil && !x.sent {
		x.send()
	}
	return nil
}

// choose is the router's part: the override host or the balancer's choice.
func (x *exchange) choose() error {
	x.target, x.Overridden = x.cluster.choose(x.Worker, x.stream.OverrideHost())
	if x.target == nil {
		return x.localReply(NoHost, 503, "no_healthy_upstream", flagNoHealthyUpstream)
	}
	x.Endpoint = x.target.Name
	x.Chosen = x.m.now()
	x.stream.SetUpstream(x.target.Address, 1)
	by := "balancer"
	if x.Overridden {
		by = "override"
	}
	x.log("goes to %s (%s)", x.Endpoint, by)
	return nil
}

// send hands the complete request to the endpoint, which decides when it
// answers. Envoy's route timeout runs from here on.
func (x *exchange) send() {
	x.sent = true
	if timeout := time.Duration(x.route.Timeout); timeout > 0 {
		x.later(x.m.now()+timeout, x.timeOut)
	}
	answer := x.target.Answer(x.m.now())
	x.later(answer.Headers, func() error { return x.respond(answer) })
}

// respond passes the response headers through the filter, and the rest when it
// comes.
func (x *exchange) respond(a Answer) error {
	x.begun = true
	x.Status = a.Status
	x.stream.SetResponseDetails("via_upstream", 0)
	if _, err := x.stream.ResponseHeaders(responseHeaders(a.Status, x.Traffic.ResponseType), false); err != nil {
		return err
	}
	x.later(a.FirstChunk, func() error {
		x.FirstByte = x.m.now()
		_, err := x.stream.ResponseData([]byte(`{"choices":[]}`), false)
		return err
	})
	x.later(a.Total, func() error {
		if _, err := x.stream.ResponseData(nil, true); err != nil {
			return err
		}
		return x.end(Answered, a.Status)
	})
	return nil
}

// timeOut ends a request at its route's timeout: with 504 if nothing has come
// yet, else by cutting the response off.
func (x *exchange) timeOut() error {
	const details = "response_timeout"
	if !x.begun {
		return x.localReply(TimedOut, 504, details, flagUpstreamTimeout)
	}
	x.stream.SetResponseDetails(details, flagUpstreamTimeout)
	return x.end(TimedOut, x.Status)
}

// leave ends a request because its client closes the connection. Envoy calls no
// filter but at the stream's end.
func (x *exchange) leave() error {
	x.stream.SetResponseDetails("downstream_remote_disconnect", flagClientLeft)
	return x.end(Left, x.Status)
}

// localReply is an answer that the router makes itself.
func (x *exchange) localReply(outcome Outcome, status int, details string, flags uint64) error {
	x.stream.SetResponseDetails(details, flags)
	if _, err := x.stream.ResponseHeaders(responseHeaders(status, "text/plain"), false); err != nil {
		return err
	}
	if _, err := x.stream.ResponseData([]byte(details), true); err != nil {
		return err
	}
	return x.end(outcome, status)
}

func (x *exchange) end(outcome Outcome, status int) error {
	x.done = true
	x.m.inFlight--
	x.Outcome = outcome
	x.Status = status
	x.Ended = x.m.now()
	x.log("%s, status %d, after %s", outcome, status, x.Ended-x.Arrived)
	return x.stream.Close()
}

// later does something at a moment, unless the request is over by then.
func (x *exchange) later(moment time.Duration, do func() error) {
	if moment == Never {
		return
	}
	x.m.queue.at(moment, func() error {
		if x.done {
			return nil
		}
		return do()
	})
}

func (x *exchange) log(format string, args ...any) {
	x.m.log.Line("%s #%d "+format, append([]any{workerName(x.Worker), x.Number}, args...)...)
}

func (x *exchange) requestHeaders() wasmhost.Headers {
	return wasmhost.Headers{
		{":method", x.Traffic.Method},
		{":scheme", "https"},
		{":authority", x.route.Domain},
		{":path", "/v1/chat/completions"},
		{"content-type", "application/json"},
		{"x-request-id", strconv.Itoa(x.Number)},
	}
}

func responseHeaders(status int, contentType string) wasmhost.Headers {
	return wasmhost.Headers{{":status", strconv.Itoa(status)}, {"content-type", contentType}}
}
