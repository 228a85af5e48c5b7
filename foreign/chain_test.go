package foreign

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

const (
	ours = "endpoint-breaker"
	// oursAlways overrides every request, so that its effect shows in any chain.
	oursAlways = `{"override":"always","slow_threshold":"50ms","confirm_count":20,"dedup_window":"0s","check_interval":"0s"}`
)

// everyPlugin is all of them in the order of their documents' phases and priorities. Ours is not in it.
func everyPlugin() []filter {
	configurations := map[string]string{}
	for _, p := range plugins() {
		configurations[p.name] = p.configuration
	}
	var chain []filter
	for _, name := range []string{
		"ai-data-masking", "gpustack-generic-proxy-router", "transformer", "gpustack-set-header-pre-route",
		"gpustack-ext-auth", "gpustack-ip-acl",
		"gpustack-lb", "gpustack-lb-session-affinity", "gpustack-lb-least-load", "gpustack-lb-decision-service",
	} {
		chain = append(chain, filter{name, configurations[name]})
	}
	chain = append(chain, filter{"gpustack-lb", lbFinisherConfig})
	for _, name := range []string{"gpustack-rate-limit", "gpustack-token-usage", "ai-statistics", "gpustack-ai-proxy"} {
		chain = append(chain, filter{name, configurations[name]})
	}
	return chain
}

// admitting are the clusters of a gateway whose authority lets everybody pass.
func admitting() clusters {
	known := unreachable()
	known[authCluster] = wasmhost.Cluster{HTTP: func(wasmhost.HTTPCall) (wasmhost.HTTPAnswer, error) {
		return wasmhost.HTTPAnswer{Headers: wasmhost.Headers{{":status", "200"}, {"x-mse-consumer", "gpustack-7"}}}, nil
	}}
	return known
}

func TestAllForeignPluginsRunInOneChainWithOurs(t *testing.T) {
	breaker := filter{ours, oursAlways}
	from := [2]string{"x-forwarded-for", "192.0.2.1"}
	for name, chain := range map[string][]filter{
		"ours in front": append([]filter{breaker}, everyPlugin()...),
		"ours behind":   append(everyPlugin(), breaker),
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, admitting(), chain...)
			place := slices.IndexFunc(chain, func(f filter) bool { return f.name == ours })
			for _, kind := range []struct {
				in  request
				out response
			}{{get(from), list()}, {chat(question, from), completion()}, {chat(streamQuestion, from), events()}} {
				got := g.send(kind.in, kind.out)
				require.Equal(t, "200", got.status)
				require.Contains(t, []string{hostA, hostB}, got.OverrideHost(), "the breaker's choice")
				require.Equal(t, route, got.route)
				require.Equal(t, "Bearer sk-1", header(got.RequestHeadersNow(), "authorization"), "the last plugin's work")
				require.Equal(t, "yes", header(got.ResponseHeadersNow(), "x-answered"), "an early plugin's work on the answer")
			}
			g.requireNoTrap()
			samples := g.plugins[place].Metric("endpoint_breaker.upstream." + cluster + ".model.metric.samples")
			assert.EqualValues(t, 3, samples, "each answer took 100 ms or more")
			assert.Zero(t, g.plugins[place].Metric("endpoint_breaker.metric.panics"))
			assert.Zero(t, g.plugins[place].Metric("endpoint_breaker.metric.host_call_errors"))
		})
	}
}

func TestADeniedRequestNeverReachesTheBreakerBehind(t *testing.T) {
	denier := filter{"gpustack-ext-auth", extAuthConfig}
	breaker := filter{ours, oursAlways}
	g := start(t, unreachable(), denier, breaker)
	assert.Equal(t, "403", g.send(chat(question), completion()).status)
	assert.Zero(t, g.plugins[1].Metric("endpoint_breaker.upstream."+cluster+".model.metric.overrides"))
	g.requireNoTrap()
	g = start(t, unreachable(), breaker, denier)
	assert.Equal(t, "403", g.send(chat(question), completion()).status)
	assert.Zero(t, g.plugins[0].Metric("endpoint_breaker.upstream."+cluster+".model.metric.samples"), "nobody's sample")
	g.requireNoTrap()
}
