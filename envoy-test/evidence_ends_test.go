package envoytest

import (
	"net/http"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"endpoint-breaker/internal/backend"
)

// What the answer, or the end of a request, tells by itself.
func endSituations() []neighbour {
	return []neighbour{
		{
			route: "headers", test: toldByTheAnswer(afterDelay(tooLate), "headers"),
			rule: "the headers are late: the host",
		},
		{
			route: "chunk", test: toldByTheAnswer(streaming("text/event-stream", part{after: tooLate, text: "data: 1\n\n"}), "first_chunk"),
			rule: "the first event is late: the host",
		},
		{
			route: "204", test: toldByTheAnswer(backend.After(backend.For(tooLate), backend.Status(http.StatusNoContent)), "headers"),
			rule: "a 204 is late: the host",
		},
		{
			route: "trailers", adaptCluster: speaksHTTP2, test: toldByTheAnswer(failsByTrailers(tooLate, false), "first_chunk"),
			rule: "a gRPC stream without a message ends late: the host",
		},
		{
			route: "trailers-only", adaptCluster: speaksHTTP2, test: toldByTheAnswer(failsByTrailers(tooLate, true), "first_chunk"),
			rule: "a gRPC answer of trailers alone is late: the host",
		},
		{
			route: "stall", test: toldByTheAnswer(brokenOff(), "stalled"),
			rule: "a stream stalls, and breaks off: the host",
		},
		{
			route: "reset", test: endsWithout(dropAfter(tooLate), http.StatusServiceUnavailable, "in_flight"),
			rule: "the host breaks off past the threshold: the host",
		},
		{
			route: "timeout", timeout: tooLate, test: endsWithout(backend.Hang(), http.StatusGatewayTimeout, "timeout"),
			rule: "the route's timeout past the threshold: the host",
		},
		{
			route: "timeout-uncounted", timeout: tooLate, test: endsWithout(backend.Hang(), http.StatusGatewayTimeout, "in_flight"),
			rule: "the same with count_timeouts: false: the host",
		},
		{
			route: "departure", test: departsPast(hangUp, false),
			rule: "a client leaves past the threshold: the host",
		},
		{
			route: "departure-cancel", test: departsPast(resets(http2.ErrCodeCancel), true),
			rule: "a client resets its stream past the threshold: the host",
		},
		{
			route: "departure-no-error", test: departsPast(resets(http2.ErrCodeNo), true),
			rule: "a client resets its stream without an error past the threshold: the host",
		},
		{
			route: "departure-refused", test: departsPast(resets(http2.ErrCodeRefusedStream), true),
			rule: "a client refuses its stream past the threshold: the host",
		},
		{
			route: "abort", adaptDomain: filtered(faultBehind, aborts(tooLate)), test: replied("fault_filter_abort", http.StatusTeapot),
			rule: "a filter behind the plugin replies late: nobody",
		},
		{
			route: "retry", adaptDomain: retried(1, tooLate), test: retryIsFast,
			rule: "A hangs past the threshold, B answers the retry at once: nobody can tell",
		},
		{
			route: "last", adaptDomain: retried(1, tooLate), test: lastTimesOut,
			rule: "the last attempt has a timeout of its own: its host",
		},
		{
			route: "last-uncounted", adaptDomain: retried(1, tooLate), test: lastTimesOutUncounted,
			rule: "the same with count_timeouts: false: nobody can tell",
		},
		{
			route: "hedge", adaptDomain: hedgedAfter(tooLate), test: retryIsFast,
			rule: "B is asked as well when A is late, and answers at once: nobody can tell",
		},
	}
}

// toldByTheAnswer sends a request whose answer is late.
func toldByTheAnswer(handler http.Handler, reason string) func(*world) {
	return func(w *world) {
		w.serveAll(handler)
		w.send(http.MethodGet, "/v1/models", nil)
		w.against(w.lastAsked(), reason)
	}
}

// brokenOff is a stream that has begun, stalls, and has no end.
func brokenOff() http.Handler {
	return backend.After(backend.For(0), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streaming("text/event-stream", part{text: "data: 1\n\n"}, part{after: tooLate}).ServeHTTP(w, r)
		panic(http.ErrAbortHandler)
	}))
}

// endsWithout sends a request that gets no answer of a host.
func endsWithout(handler http.Handler, status int, reason string) func(*world) {
	return func(w *world) {
		w.serveAll(handler)
		w.request(status)
		w.against(w.lastAsked(), reason)
	}
}

func departsPast(leave func(*world, *rawClient), overHTTP2 bool) func(*world) {
	return func(w *world) {
		w.serveAll(backend.Hang())
		client := w.waiting(overHTTP2)
		require.NoError(w.t, backend.For(tooLate)(w.t.Context()))
		leave(w, client)
		w.against(w.lastAsked(), "in_flight")
	}
}

func retryIsFast(w *world) {
	w.serveAll(byAttempt(backend.Hang(), backend.Usual()))
	w.request(http.StatusOK)
	w.againstUnknown()
}
