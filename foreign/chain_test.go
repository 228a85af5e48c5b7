package foreign

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

const (
	ours = "endpoint-breaker"
	// oursAlways overrides every request, so that its effect shows in any chain.
	oursAlways = `{"override":"always","slow_threshold":"50ms","confirm_count":20,"dedup_window":"0s","check_interval":"0s"}`
)

// beforeFinisher and afterFinisher are all of them in the order of their documents' phases and
// priorities, around the finisher of gpustack's load balancing.
func beforeFinisher() []string {
	return []string{
		"ai-data-masking", "gpustack-generic-proxy-router", "transformer", "gpustack-set-header-pre-route",
		"gpustack-ext-auth", "gpustack-ip-acl",
		"gpustack-lb", "gpustack-lb-session-affinity", "gpustack-lb-least-load", "gpustack-lb-decision-service",
	}
}

func afterFinisher() []string {
	return []string{"gpustack-rate-limit", "gpustack-token-usage", "ai-statistics", "gpustack-ai-proxy"}
}

// everyPlugin is the chain of all of them. Ours is not in it.
func everyPlugin() []filter {
	configurations := map[string]string{}
	for _, p := range plugins() {
		configurations[p.name] = p.configuration
	}
	var chain []filter
	for _, name := range beforeFinisher() {
		chain = append(chain, filter{name, configurations[name]})
	}
	chain = append(chain, filter{"gpustack-lb", lbFinisherConfig})
	for _, name := range afterFinisher() {
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
			assert.EqualValues(t, 3, g.count("samples"), "each answer took 100 ms or more")
			assert.EqualValues(t, 3, g.count("overrides_enforced"))
			assert.Zero(t, g.count("panics"))
			assert.Zero(t, g.count("host_call_errors"))
		})
	}
}

// atSlowAuthority sends a GET through ext-auth and the breaker in the given order to an authority that
// takes longer than slow_threshold.
func atSlowAuthority(t *testing.T, known clusters, chain ...filter) (*gateway, outcome) {
	t.Helper()
	g := start(t, known, chain...)
	g.calls = 60 * time.Millisecond
	got := g.send(get(), list())
	g.requireNoTrap()
	return g, got
}

func TestADeniedRequestNeverReachesTheBreakerBehind(t *testing.T) {
	chain := []filter{{"gpustack-ext-auth", extAuthConfig}, {ours, oursAlways}}
	g, got := atSlowAuthority(t, unreachable(), chain...)
	assert.Equal(t, "403", got.status)
	assert.Zero(t, g.count("overrides_enforced"))

	g, got = atSlowAuthority(t, admitting(), chain...)
	assert.Equal(t, "200", got.status)
	assert.EqualValues(t, 1, g.count("overrides_enforced"), "an admitted one does")
}

func TestADeniedRequestIsNobodysSampleForTheBreakerInFront(t *testing.T) {
	chain := []filter{{ours, oursAlways}, {"gpustack-ext-auth", extAuthConfig}}
	g, got := atSlowAuthority(t, unreachable(), chain...)
	assert.Equal(t, "403", got.status)
	assert.Zero(t, g.count("samples"))
	assert.Zero(t, g.count("samples_unattributed"))

	g, got = atSlowAuthority(t, admitting(), chain...)
	assert.Equal(t, "200", got.status)
	assert.EqualValues(t, 1, g.count("samples"), "an admitted one is the host's")
}
