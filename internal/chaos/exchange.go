package chaos

import (
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// exchange is one request on its way, from its client's side.
type exchange struct {
	*gateway
	plan   plan
	worker int
	stream *wasmhost.Stream

	began, completed time.Duration // completed: never = not yet
	routed           bool          // the router has it
	closed           bool

	number   int // of attempts
	attempts []*attempt
	pending  bool     // a retry waits for its turn
	winner   *attempt // whose answer goes to the client
	received time.Duration
}

// start sends the request's headers.
func (g *gateway) start(p plan, worker int) {
	stream, err := g.plugin.Worker(worker).NewStream(wasmhost.Route{Name: "llm", Cluster: cluster, Hosts: g.listed})
	if err != nil {
		g.failed(err)
		return
	}
	x := &exchange{gateway: g, plan: p, worker: worker, stream: stream, began: g.now(), completed: never, received: never}
	g.open[x] = true
	g.result.streams++
	if p.deserts != never {
		x.later(p.deserts, x.leave)
	}
	x.calls(func() error { _, err := stream.RequestHeaders(p.headers, !p.body); return err })
	if !p.body {
		x.complete()
		return
	}
	x.send(p.upload)
}

// send sends the request's body in a few pieces.
func (x *exchange) send(left time.Duration) {
	switch {
	case left > 0 || x.plan.endless:
		x.calls(func() error { _, err := x.stream.RequestData([]byte("{"), false); return err })
		step := max(x.plan.upload/4, time.Second)
		if left > 0 {
			step = min(step, left)
		}
		x.later(step, func() { x.send(left - step) })
		x.route()
		return
	case x.plan.trailers:
		x.calls(func() error { _, err := x.stream.RequestData([]byte("{}"), false); return err })
		x.calls(func() error { _, err := x.stream.RequestTrailers(wasmhost.Headers{{"x-end", "1"}}); return err })
	default:
		x.calls(func() error { _, err := x.stream.RequestData([]byte("{}"), true); return err })
	}
	x.complete()
}

// complete is told that the request's last byte is out.
func (x *exchange) complete() {
	x.completed = x.now()
	if x.plan.upload >= x.setup.longest() {
		x.played("an upload longer than the threshold")
	}
	if x.plan.leaves != never {
		x.later(x.plan.leaves, x.leave)
	}
	x.route()
	for _, a := range x.attempts {
		a.run()
	}
	if timeout := x.plan.route.timeout; timeout > 0 && x.number > 0 {
		x.later(timeout, func() { x.timedOut("response_timeout") })
	}
}

// route hands the request to the router, once the plugin has let its headers go.
func (x *exchange) route() {
	if x.routed || x.closed || !x.stream.Released() {
		return
	}
	if f := x.plan.filter; f != nil {
		x.plan.filter = nil
		x.later(f.after, func() {
			if f.after >= x.setup.longest() {
				x.played("a reply of a filter past the threshold")
			}
			x.reply(f.status, f.details)
		})
		x.routed = true
		return
	}
	x.routed = true
	x.try()
}

// leave is the client's end of it.
func (x *exchange) leave() {
	if x.closed {
		return
	}
	if x.winner == nil && x.completed != never {
		switch waited := x.now() - x.completed; {
		case waited >= x.setup.longest():
			x.played("a client that leaves past the threshold")
		case waited >= x.setup.shortest()-time.Second:
			x.played("a client that leaves just before the threshold")
		}
	}
	x.stream.SetResponseDetails(oneOf(x.random, "downstream_remote_disconnect", "http2.remote_reset"), 0)
	x.close()
}

// reply is one that the gateway makes.
func (x *exchange) reply(status, details string) {
	if x.closed || x.winner != nil {
		return
	}
	x.stream.SetResponseDetails(details, 0)
	x.calls(func() error {
		_, err := x.stream.ResponseHeaders(wasmhost.Headers{{":status", status}, {"content-type", "text/plain"}}, true)
		return err
	})
	x.close()
}

// close ends the exchange. Envoy tells how long the last attempt took only if its answer is
// complete.
func (x *exchange) close() {
	if x.closed {
		return
	}
	x.closed = true
	delete(x.open, x)
	for _, a := range x.attempts {
		a.over = true
	}
	if x.winner != nil && x.received != never && !x.setup.old {
		x.stream.SetProperty("response.backend_latency", wasmhost.IntegerProperty(int64(x.received-x.winner.began)))
	}
	x.calls(x.stream.Close)
}

// later does it unless the exchange has ended by then.
func (x *exchange) later(after time.Duration, act func()) {
	x.after(after, func() {
		if !x.closed {
			act()
		}
	})
}

// calls makes a call of the stream on behalf of this exchange.
func (x *exchange) calls(call func() error) {
	x.playing = x
	if err := call(); err != nil {
		x.failed(err)
	}
	x.playing = nil
}
