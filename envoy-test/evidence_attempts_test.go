package envoytest

import (
	"net/http"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/backend"
)

// Of several attempts an endpoint answers for its own. A is the host of the first, B the one of
// the second.
func attemptSituations() []neighbour {
	return []neighbour{
		{
			route: "retry-late", adaptDomain: retried(1, tooLate), test: firstHadTheThreshold,
			rule: "A hangs past the threshold, the retry goes to B: A",
		},
		{
			route: "retry-soon", adaptDomain: retried(1, soon), test: firstHadLess,
			rule: "A hangs, but not for the threshold, B answers at once, and the whole is in time: nobody",
		},
		{
			route: "attempts", hosts: 3, adaptDomain: retried(2, soon), test: attemptsOfLess,
			rule: "attempts of less than the threshold each, late together: nobody can tell",
		},
		{
			route: "last", adaptDomain: retried(1, soon), test: lastTimesOut,
			rule: "the last attempt has a timeout of its own: its host",
		},
		{
			route: "last-uncounted", adaptDomain: retried(1, soon), test: lastTimesOutUncounted,
			rule: "the same with count_timeouts: false: nobody can tell",
		},
		{
			route: "idle", hosts: 1, adaptDomain: idleFor(soon), test: attemptIsIdle,
			rule: "an attempt has a timeout for silence: its host",
		},
		{
			route: "slow-last", adaptDomain: retried(1, 0), test: lastIsSlow,
			rule: "a retry to B, which alone takes the threshold until it answers: B",
		},
		{
			route: "slow-body", adaptDomain: retried(1, 0), test: bodyIsSlow,
			rule: "the same, but what took long was the body: nobody can tell",
		},
		{
			route: "last-hangs", adaptDomain: retried(1, 0), test: lastHangs,
			rule: "a retry to B, which then hangs: B",
		},
		{
			route: "hedge", adaptDomain: hedgedAfter(soon), test: hedgeWins,
			rule: "B is asked as well when A is late, and answers at once: nobody",
		},
		{
			route: "hedge-late", adaptDomain: hedgedAfter(soon), test: hedgeIsLate,
			rule: "B is asked as well, and takes less than the threshold, but the whole does not: nobody can tell",
		},
		{
			route: "hedge-first", adaptDomain: hedgedAfter(soon), test: hedgeLoses,
			rule: "B is asked as well, and A answers first, late: A",
		},
		{
			route: "hedge-past", adaptDomain: hedgedAfter(tooLate), test: hedgeWinsLate,
			rule: "B is asked as well when A is past the threshold, and answers at once: A",
		},
		{
			route: "redirect", adaptDomain: redirected, test: redirectInTime,
			rule: "A redirects inside Envoy in time, B answers in time: nobody",
		},
		{
			route: "redirect-late", adaptDomain: redirected, test: redirectTooLate,
			rule: "A takes too long to redirect: A",
		},
	}
}

// retried makes Envoy ask another host, so many times, when one has failed, or has not answered for so
// long;
// 0 = however long it takes.
func retried(retries uint32, perTry time.Duration) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) {
		var others previoushostsv3.PreviousHostsPredicate
		domain.IncludeRequestAttemptCount = true
		action(domain).RetryPolicy = &routev3.RetryPolicy{
			RetryOn: "reset,gateway-error", NumRetries: wrapperspb.UInt32(retries),
			RetryBackOff:                  &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(time.Millisecond)},
			HostSelectionRetryMaxAttempts: 10,
			RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
				Name:       "envoy.retry_host_predicates.previous_hosts",
				ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: mustPack(&others)},
			}},
		}
		if perTry > 0 {
			action(domain).RetryPolicy.PerTryTimeout = durationpb.New(perTry)
		}
	}
}

// hedgedAfter makes Envoy ask a second host when the first has not answered for so long, and wait
// for both.
func hedgedAfter(perTry time.Duration) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) {
		retried(1, perTry)(domain)
		action(domain).HedgePolicy = &routev3.HedgePolicy{HedgeOnPerTryTimeout: true}
	}
}

func idleFor(d time.Duration) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) {
		action(domain).RetryPolicy = &routev3.RetryPolicy{
			RetryOn: "reset", NumRetries: wrapperspb.UInt32(0), PerTryIdleTimeout: durationpb.New(d),
		}
	}
}

// redirected makes Envoy itself go where hosts redirect to.
func redirected(domain *routev3.VirtualHost) {
	action(domain).InternalRedirectPolicy = &routev3.InternalRedirectPolicy{MaxInternalRedirects: wrapperspb.UInt32(1)}
}

func firstHadTheThreshold(w *world) {
	w.serveAll(byAttempt(backend.Hang(), backend.Usual()))
	assert.Equal(w.t, w.request(http.StatusOK).host, w.attempted(2).Name())
	w.against(w.attempted(1), "in_flight")
}

func firstHadLess(w *world) {
	w.serveAll(byAttempt(backend.Hang(), backend.Usual()))
	w.request(http.StatusOK)
	w.againstNobody(1)
	assert.Equal(w.t, 2, w.finished(1)[0].Attempts)
}

func attemptsOfLess(w *world) {
	w.serveAll(byAttempt(backend.Hang(), backend.Hang(), backend.Usual()))
	w.request(http.StatusOK)
	w.againstUnknown()
	assert.Equal(w.t, 3, w.finished(1)[0].Attempts)
}

func lastTimesOut(w *world) {
	w.serveAll(backend.Hang())
	w.request(http.StatusGatewayTimeout)
	w.against(w.attempted(2), "timeout")
	assert.Equal(w.t, "upstream_per_try_timeout", w.finished(1)[0].Details)
}

func lastTimesOutUncounted(w *world) {
	w.serveAll(backend.Hang())
	w.request(http.StatusGatewayTimeout)
	w.againstUnknown()
	assert.Equal(w.t, "upstream_per_try_timeout", w.finished(1)[0].Details)
}

func attemptIsIdle(w *world) {
	w.serveAll(backend.Hang())
	w.request(http.StatusGatewayTimeout)
	assert.Equal(w.t, "upstream_per_try_idle_timeout", w.finished(1)[0].Details)
	w.against(w.hosts[0], "timeout")
}

func lastIsSlow(w *world) {
	w.serveAll(byAttempt(dropAfter(500*time.Millisecond), afterDelay(justLate)))
	w.request(http.StatusOK)
	w.against(w.attempted(2), "headers")
}

// A breaks off before its threshold, B answers after less, and the whole is late. Only with the
// body, which takes longer than the threshold, B's attempt is, too.
func bodyIsSlow(w *world) {
	w.serveAll(byAttempt(dropAfter(soon), backend.After(backend.For(soon), streaming("text/plain", part{text: "a"}, part{after: tooLate, text: "b"}))))
	w.request(http.StatusOK)
	w.againstUnknown()
}

func lastHangs(w *world) {
	w.serveAll(byAttempt(dropAfter(500*time.Millisecond), backend.Hang()))
	w.leave(func() { w.against(w.attempted(2), "in_flight") })
	w.finished(1)
	w.against(w.attempted(2), "in_flight")
}

func hedgeWins(w *world) {
	w.serveAll(byAttempt(backend.Hang(), backend.Usual()))
	w.request(http.StatusOK)
	w.againstNobody(1)
	assert.Equal(w.t, 2, w.finished(1)[0].Attempts)
}

func hedgeIsLate(w *world) {
	w.serveAll(byAttempt(backend.Hang(), afterDelay(soon)))
	w.request(http.StatusOK)
	w.againstUnknown()
}

func hedgeLoses(w *world) {
	w.serveAll(byAttempt(afterDelay(justLate), backend.Hang()))
	assert.Equal(w.t, w.request(http.StatusOK).host, w.attempted(1).Name())
	w.against(w.attempted(1), "headers")
	assert.Equal(w.t, w.attempted(1).Address(), w.finished(1)[0].Host)
}

func hedgeWinsLate(w *world) {
	w.serveAll(byAttempt(backend.Hang(), backend.Usual()))
	assert.Equal(w.t, w.request(http.StatusOK).host, w.attempted(2).Name())
	w.against(w.attempted(1), "in_flight")
}

// redirecting sends to another path after one time, and answers there after another.
func redirecting(domain string, redirect, answer time.Duration) http.Handler {
	there := backend.After(backend.For(redirect), http.RedirectHandler("http://"+domain+"/there", http.StatusFound))
	last := afterDelay(answer)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			last.ServeHTTP(w, r)
			return
		}
		there.ServeHTTP(w, r)
	})
}

func redirectInTime(w *world) {
	w.serveAll(redirecting(w.domainName(), soon, soon))
	w.request(http.StatusOK)
	w.againstNobody(1)
	assert.Equal(w.t, 2, w.arrived(), "one request and the one that it was redirected to")
}

func redirectTooLate(w *world) {
	w.serveAll(redirecting(w.domainName(), tooLate, 0))
	w.request(http.StatusOK)
	w.against(w.asked("/v1/models"), "in_flight")
}

// asked is the host that has had a request for the path.
func (w *world) asked(path string) *backend.Server {
	w.t.Helper()
	for _, h := range w.hosts {
		for _, r := range h.Requests() {
			if r.Path == path {
				return h
			}
		}
	}
	w.t.Fatalf("no host was asked for %s", path)
	return nil
}

// arrived is how many requests have reached a host.
func (w *world) arrived() (n int) {
	for _, h := range w.hosts {
		n += h.Count()
	}
	return n
}
