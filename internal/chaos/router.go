package chaos

import (
	"slices"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// attempt is one try of the router to have a request answered.
type attempt struct {
	*exchange
	host      *host
	behaviour behaviour
	began     time.Duration
	over      bool
}

// try begins an attempt. Envoy shows its host from now on.
func (x *exchange) try() {
	x.pending = false
	h := x.choose()
	if h == nil {
		x.reply("503", "no_healthy_upstream")
		return
	}
	x.number++
	x.stream.SetUpstream(h.address, uint64(x.number)) //nolint:gosec // a small count
	a := &attempt{exchange: x, host: h, began: x.now(), behaviour: h.behave(x.random, x.setup, x.plan.route.within)}
	if x.number > 1 && x.plan.route.hedge { // see the package's comment
		a.behaviour.fails, a.behaviour.status = noFailure, "200"
	}
	x.attempts = append(x.attempts, a)
	if duration := x.plan.route.duration; duration > 0 {
		a.later(duration, func() { x.timedOut("upstream_max_stream_duration_reached") })
	}
	switch {
	case a.behaviour.fails == connectionFailure:
		a.later(a.behaviour.after, a.fail)
	case a.behaviour.early && x.completed == never:
		a.later(a.behaviour.after, func() { x.played("an answer before the request's end"); a.headers() })
	case x.completed != never:
		a.run()
	}
}

// choose is the load balancer: what the plugin has asked for counts for the first attempt, if
// the host is there.
func (x *exchange) choose() *host {
	asked := x.stream.OverrideHost()
	var candidates []*host
	for _, h := range x.hosts {
		switch {
		case h.away || h.sick:
		case x.number == 0 && h.address == asked:
			return h
		default:
			candidates = append(candidates, h)
		}
	}
	if len(candidates) > 1 && x.number > 0 && !x.plan.route.sameAgain {
		last := x.attempts[len(x.attempts)-1].host
		candidates = slices.DeleteFunc(candidates, func(h *host) bool { return h == last })
	}
	if len(candidates) == 0 {
		return nil
	}
	x.robin++
	return candidates[x.robin%len(candidates)]
}

// later does it unless the attempt is over by then.
func (a *attempt) later(after time.Duration, act func()) {
	a.exchange.later(after, func() {
		if !a.over {
			act()
		}
	})
}

// run begins when the host has the whole request, with the attempt's own timeout.
func (a *attempt) run() {
	if a.over || a.winner != nil || a.behaviour.fails == connectionFailure {
		return
	}
	if perTry := a.plan.route.perTry; perTry > 0 {
		a.later(perTry, a.timedOut)
	}
	switch {
	case a.behaviour.fails == resetFailure:
		a.later(a.behaviour.after, a.fail)
	case a.behaviour.after != never:
		a.later(a.behaviour.after, a.headers)
	}
}

// timedOut is the attempt's own timeout. Under a hedge it goes on beside the next one.
func (a *attempt) timedOut() {
	if a.winner != nil {
		return
	}
	if a.plan.route.hedge {
		if a.retries() {
			a.played("a hedge")
			a.try()
		}
		return
	}
	a.over = true
	if !a.again() {
		a.reply("504", "upstream_per_try_timeout")
	}
}

func (a *attempt) fail() {
	a.over = true
	if !a.again() {
		a.reply("503", string(a.behaviour.fails))
	}
}

// retries reports whether another attempt is allowed.
func (x *exchange) retries() bool { return x.number <= x.plan.route.retries && !x.pending }

// again has the router make another attempt after a moment, if it may, or wait for one that
// still goes on.
func (x *exchange) again() bool {
	if slices.ContainsFunc(x.attempts, func(a *attempt) bool { return !a.over }) {
		return true
	}
	if !x.retries() {
		return false
	}
	x.pending = true
	x.later(x.random.between(0.02, 0.25, time.Second), func() {
		if x.pending {
			x.try()
		}
	})
	return true
}

// timedOut is a timeout of the request as a whole.
func (x *exchange) timedOut(details string) {
	if x.winner != nil { // its answer is cut off
		x.stream.SetResponseDetails(details, 0)
		x.close()
		return
	}
	if x.number > 1 && !x.attempts[len(x.attempts)-1].host.slow {
		x.played("a timeout of the route while a healthy host has a retry")
	}
	if x.completed != never && x.plan.upload > 0 && x.now()-x.completed < x.setup.shortest() {
		x.played("a timeout soon after a slow upload")
	}
	x.reply("504", details)
}

// headers is the first that comes back. The first host to answer wins.
func (a *attempt) headers() {
	b := a.behaviour
	if a.winner != nil { // it has answered early
		return
	}
	if b.status == "503" && a.plan.route.retry5xx && (a.retries() || len(a.attempts) > 1) {
		a.over = true
		if a.again() {
			return
		}
		a.over = false
	}
	if b.redirects {
		a.redirect()
		return
	}
	a.winner = a
	for _, other := range a.attempts {
		other.over = other != a
	}
	a.account()
	a.stream.SetUpstream(a.host.address, uint64(a.number)) //nolint:gosec // a small count
	a.stream.SetResponseDetails("via_upstream", 0)
	ended := a.plan.empty || a.plan.grpc && b.status != "200"
	a.calls(func() error {
		_, err := a.stream.ResponseHeaders(wasmhost.Headers{{":status", b.status}, {"content-type", a.plan.contentType}}, ended)
		return err
	})
	switch {
	case ended:
		a.end()
	case !a.plan.streams:
		a.later(0, func() { a.chunk(b.chunks) })
	case b.first != never:
		a.later(max(0, b.first-b.after), func() { a.chunk(b.chunks) })
	}
}

// chunk is a piece of the answer, and so many are to come.
func (a *attempt) chunk(more int) {
	last := more == 0
	byTrailers := last && a.plan.grpc
	a.calls(func() error { _, err := a.stream.ResponseData([]byte("data: 1\n\n"), last && !byTrailers); return err })
	if byTrailers {
		a.calls(func() error { _, err := a.stream.ResponseTrailers(wasmhost.Headers{{"grpc-status", "0"}}); return err })
	}
	switch {
	case last:
		a.end()
	case more == 1 && a.behaviour.stalls:
	default:
		a.later(a.behaviour.gap, func() { a.chunk(more - 1) })
	}
}

// end is the answer's last byte. Its client may take a while to read.
func (a *attempt) end() {
	a.received = a.now()
	if a.plan.lingers == 0 {
		a.close()
		return
	}
	a.played("a client that reads slowly")
	a.later(a.plan.lingers, a.close)
}

// redirect is an answer that Envoy follows itself: the filters see the stream end and another
// one begin.
func (a *attempt) redirect() {
	a.played("an internal redirect")
	next := a.plan
	next.upload, next.endless, next.deserts = 0, false, never
	a.stream.SetResponseDetails("internal_redirect", 0)
	a.close()
	a.start(next, a.worker)
}

// account notes what kinds of answers there were.
func (a *attempt) account() {
	if a.plan.route.hedge && a.number > 1 && a == a.attempts[0] {
		a.played("a hedge that the first attempt wins")
	}
	if a.completed == never || a.now()-a.completed < a.setup.longest() {
		return
	}
	switch {
	case a.host.slow:
		a.played("a late answer of the slow host")
	case a.plan.route.hedge:
		a.played("a late answer of a healthy host that a hedge went to")
	default:
		a.played("a late answer of a healthy host that a retry went to")
	}
}
