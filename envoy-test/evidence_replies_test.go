package envoytest

import (
	"net/http"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultcommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// Filters around the plugin's that do nothing unless a domain tells them to.
const (
	faultInFront = "fault-in-front"
	faultBehind  = "fault-behind"
	rateLimit    = "rate-limit"
)

// A reply that no endpoint gave, and an end that nobody is to blame for.
func replySituations() []neighbour {
	return []neighbour{
		{
			route: "abort", adaptDomain: filtered(faultBehind, aborts(0)), test: replied("fault_filter_abort", http.StatusTeapot),
			rule: "a filter behind the plugin replies: nobody",
		},
		{
			route: "late-abort", adaptDomain: filtered(faultBehind, aborts(tooLate)), test: replied("fault_filter_abort", http.StatusTeapot),
			rule: "a filter behind the plugin replies late: nobody",
		},
		{
			route: "abort-in-front", adaptDomain: filtered(faultInFront, aborts(tooLate)), test: replied("fault_filter_abort", http.StatusTeapot),
			rule: "a filter in front of the plugin replies late: nobody",
		},
		{
			route: "delay", adaptDomain: filtered(faultBehind, delays(tooLate)), test: replied("via_upstream", http.StatusOK),
			rule: "a filter behind the plugin holds the request past the threshold, the host answers at once: nobody",
		},
		{
			route: "delay-in-front", adaptDomain: filtered(faultInFront, delays(tooLate)), test: replied("via_upstream", http.StatusOK),
			rule: "a filter in front of the plugin holds the request past the threshold: nobody",
		},
		{
			route: "rate-limit", adaptDomain: filtered(rateLimit, oneRequest()), test: rateLimited,
			rule: "a rate limit is reached: nobody",
		},
		{
			route: "direct", adaptDomain: answeredByTheRoute, test: answeredByEnvoy,
			rule: "a route that answers by itself: nobody",
		},
		{
			route: "nowhere", adaptCluster: withoutEndpoints, test: replied("no_healthy_upstream", http.StatusServiceUnavailable),
			rule: "no healthy upstream: nobody",
		},
		{
			route: "overflow", adaptCluster: withoutRoom, test: replied("upstream_reset_before_response_started{overflow}", http.StatusServiceUnavailable),
			rule: "more requests than the cluster may have: nobody",
		},
		{
			route: "refused", test: connectionRefused,
			rule: "a connection is refused: nobody",
		},
		{
			route: "reset", test: resetAfter(soon, "upstream_reset_before_response_started{connection_termination}"),
			rule: "the host breaks off before the threshold: nobody",
		},
		{
			route: "reset-http2", adaptCluster: speaksHTTP2, test: resetAfter(soon, "upstream_reset_before_response_started{remote_reset}"),
			rule: "the host resets the stream before the threshold, over HTTP/2: nobody",
		},
		{
			route: "idle", adaptDomain: streamIdleFor(soon), test: streamIsIdle,
			rule: "a limit on the stream's silence is reached before the threshold: nobody",
		},
		{
			route: "reset-late", test: resetTooLate,
			rule: "the host breaks off past the threshold: the host",
		},
		{
			route: "5xx", test: slowError,
			rule: "a slow 500 of the host: the host",
		},
		{
			route: "503", test: fastError,
			rule: "a fast 503 of the host: nobody",
		},
	}
}

// withFaults puts the filters around the plugin's.
func withFaults(t *testing.T) func([]*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
	t.Helper()
	front := httpFilter(t, faultInFront, &faultv3.HTTPFault{})
	limit := httpFilter(t, rateLimit, &ratelimitv3.LocalRateLimit{StatPrefix: rateLimit})
	behind := httpFilter(t, faultBehind, &faultv3.HTTPFault{})
	return func(breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
		return slices.Concat([]*hcmv3.HttpFilter{front}, breaker, []*hcmv3.HttpFilter{limit, behind})
	}
}

// filtered gives a filter a configuration of the domain's own.
func filtered(name string, configuration proto.Message) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) {
		domain.TypedPerFilterConfig = map[string]*anypb.Any{name: mustPack(configuration)}
	}
}

func always() *typev3.FractionalPercent { return &typev3.FractionalPercent{Numerator: 100} }

func delays(d time.Duration) *faultv3.HTTPFault {
	if d == 0 {
		return &faultv3.HTTPFault{}
	}
	return &faultv3.HTTPFault{Delay: &faultcommonv3.FaultDelay{
		FaultDelaySecifier: &faultcommonv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(d)}, Percentage: always(),
	}}
}

func aborts(after time.Duration) *faultv3.HTTPFault {
	fault := delays(after)
	fault.Abort = &faultv3.FaultAbort{
		ErrorType: &faultv3.FaultAbort_HttpStatus{HttpStatus: http.StatusTeapot}, Percentage: always(),
	}
	return fault
}

func oneRequest() *ratelimitv3.LocalRateLimit {
	every := &corev3.RuntimeFractionalPercent{DefaultValue: always()}
	return &ratelimitv3.LocalRateLimit{
		StatPrefix: rateLimit, FilterEnabled: every, FilterEnforced: every,
		TokenBucket: &typev3.TokenBucket{MaxTokens: 1, FillInterval: durationpb.New(time.Hour)},
	}
}

func answeredByTheRoute(domain *routev3.VirtualHost) {
	domain.GetRoutes()[0].Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: http.StatusTeapot}}
}

func withoutEndpoints(c *clusterv3.Cluster) { c.LoadAssignment.Endpoints = nil }

func withoutRoom(c *clusterv3.Cluster) {
	for _, limits := range c.GetCircuitBreakers().GetThresholds() {
		limits.MaxPendingRequests = wrapperspb.UInt32(0)
	}
}

func speaksHTTP2(c *clusterv3.Cluster) {
	if _, err := envoy.HTTP2(c); err != nil {
		panic(err) // options like these can always be written
	}
}

// replied sends a request that ends like that, and is no sample.
func replied(details string, status int) func(*world) {
	return func(w *world) {
		w.request(status)
		w.againstNobody(1)
		assert.Equal(w.t, details, w.finished(1)[0].Details)
	}
}

func streamIdleFor(d time.Duration) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) { action(domain).IdleTimeout = durationpb.New(d) }
}

func streamIsIdle(w *world) {
	w.serveAll(backend.Hang())
	replied("stream_idle_timeout", http.StatusGatewayTimeout)(w)
}

func rateLimited(w *world) {
	w.request(http.StatusOK)
	w.request(http.StatusTooManyRequests)
	w.againstNobody(2)
	assert.Equal(w.t, "local_rate_limited", w.finished(2)[1].Details)
}

func answeredByEnvoy(w *world) {
	w.request(http.StatusTeapot)
	w.againstNobody(0)
}

func connectionRefused(w *world) {
	for _, h := range w.hosts {
		require.NoError(w.t, h.Stop())
	}
	w.request(http.StatusServiceUnavailable)
	w.againstNobody(1)
	assert.Contains(w.t, w.finished(1)[0].Details, "upstream_reset_before_response_started{remote_connection_failure")
}

func resetAfter(d time.Duration, details string) func(*world) {
	return func(w *world) {
		w.serveAll(dropAfter(d))
		w.request(http.StatusServiceUnavailable)
		w.againstNobody(1)
		assert.Equal(w.t, details, w.finished(1)[0].Details)
	}
}

func resetTooLate(w *world) {
	w.serveAll(dropAfter(tooLate))
	w.request(http.StatusServiceUnavailable)
	w.against(w.asked("/v1/models"), "in_flight")
}

func slowError(w *world) {
	w.serveAll(backend.After(backend.For(tooLate), backend.Status(http.StatusInternalServerError)))
	w.request(http.StatusInternalServerError)
	w.against(w.asked("/v1/models"), "in_flight")
}

func fastError(w *world) {
	w.serveAll(backend.Status(http.StatusServiceUnavailable))
	w.request(http.StatusServiceUnavailable)
	w.againstNobody(1)
}
