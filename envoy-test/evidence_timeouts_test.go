package envoytest

import (
	"net/http"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"endpoint-breaker/internal/backend"
)

// A limit of the gateway's, or of the client's, is reached before the threshold.
func timeoutSituations() []neighbour {
	return []neighbour{
		{
			route: "timeout", hosts: 1, timeout: soon, test: timesOut,
			rule: "the route's timeout before the threshold: A",
		},
		{
			route: "uncounted", hosts: 1, timeout: soon, test: timesOutUncounted,
			rule: "the same with count_timeouts: false: nobody",
		},
		{
			route: "timeout-retry", timeout: soon, adaptDomain: retried(1, 0), test: timesOutAfterRetry,
			rule: "the route's timeout after a retry: nobody can tell",
		},
		{
			route: "client-timeout", hosts: 1, test: answersInSpiteOf("x-envoy-upstream-rq-timeout-ms", "200"),
			rule: "a client asks for a timeout, and is not trusted: nobody",
		},
		{
			route: "client-deadline", hosts: 1, adaptCluster: speaksHTTP2, adaptDomain: keepsDeadlines, test: overHTTP2(deadlinePasses),
			rule: "the deadline of a gRPC client passes: nobody",
		},
		{
			route: "duration", hosts: 1, adaptDomain: lastsAtMost(tooLate), test: lastsTooLong("max_duration_timeout"),
			rule: "a limit on the stream's duration, which a slow upload used up: nobody",
		},
		{
			route: "cluster-duration", hosts: 1, adaptCluster: clusterLastsAtMost(tooLate), test: lastsTooLong("upstream_max_stream_duration_reached"),
			rule: "the same limit of the cluster's: nobody",
		},
	}
}

func lastsAtMost(d time.Duration) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) {
		action(domain).MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(d)}
	}
}

func clusterLastsAtMost(d time.Duration) func(*clusterv3.Cluster) {
	return func(c *clusterv3.Cluster) {
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": mustPack(&httpv3.HttpProtocolOptions{
				CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{MaxStreamDuration: durationpb.New(d)},
				UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
						ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{},
					},
				},
			}),
		}
	}
}

func timesOut(w *world) {
	w.serveAll(backend.Hang())
	w.request(http.StatusGatewayTimeout)
	w.against(w.hosts[0], "timeout")
	assert.Equal(w.t, "response_timeout", w.finished(1)[0].Details)
}

func timesOutUncounted(w *world) {
	w.serveAll(backend.Hang())
	w.request(http.StatusGatewayTimeout)
	w.againstNobody(1)
	w.waitForLine("before slow_threshold=3s, and count_timeouts=false")
}

func answersInSpiteOf(header, value string) func(*world) {
	return func(w *world) {
		w.serveAll(afterDelay(500 * time.Millisecond))
		r := w.send(http.MethodGet, "/v1/models", nil, header, value)
		require.NoError(w.t, r.err)
		assert.Equal(w.t, http.StatusOK, r.status)
		w.againstNobody(1)
	}
}

// keepsDeadlines makes Envoy give up when a gRPC client does.
func keepsDeadlines(domain *routev3.VirtualHost) {
	action(domain).MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{GrpcTimeoutHeaderMax: durationpb.New(0)}
}

func deadlinePasses(w *world) {
	w.serveAll(backend.Hang())
	r := w.send(http.MethodPost, "/v1/chat/completions", nil, "Content-Type", "application/grpc", "Grpc-Timeout", "200m")
	require.NoError(w.t, r.err)
	w.againstNobody(1)
	assert.Equal(w.t, "max_duration_timeout", w.finished(1)[0].Details)
}

func timesOutAfterRetry(w *world) {
	w.serveAll(byAttempt(dropAfter(300*time.Millisecond), backend.Hang()))
	w.request(http.StatusGatewayTimeout)
	w.againstUnknown()
}

// lastsTooLong is a request that is complete for much less than the threshold when its limit is
// reached.
func lastsTooLong(details string) func(*world) {
	return func(w *world) {
		w.serveAll(backend.Hang())
		r := w.send(http.MethodPost, "/v1/chat/completions", slowly(tooLate-500*time.Millisecond))
		require.NoError(w.t, r.err)
		assert.Equal(w.t, http.StatusGatewayTimeout, r.status)
		w.againstNobody(1)
		assert.Equal(w.t, details, w.finished(1)[0].Details)
	}
}
