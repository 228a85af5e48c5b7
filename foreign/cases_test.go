package foreign

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// byHost has a route for the host that clients ask for, and none for the one that ai-proxy makes of it.
func byHost(in wasmhost.Headers) (wasmhost.Route, bool) {
	host, _ := in.Get(":authority")
	return wasmhost.Route{Name: route, Cluster: cluster, Hosts: hosts}, host == "llm.example"
}

type result struct{ status, route string }

func fifty(g *gateway) []result {
	g.table = byHost
	var results []result
	for i := range 50 {
		in, out := chat(question), completion()
		switch i % 3 {
		case 1:
			in, out = get(), list()
		case 2:
			in, out = chat(streamQuestion), events()
		}
		got := g.send(in, out)
		results = append(results, result{got.status, got.route})
	}
	g.requireNoTrap()
	return results
}

// B16: a plugin that touches request headers after another rewrote Host makes the gateway match again
// and find no route. (higress 4615, 4610, 3571)
func TestCaseB16TheBreakerChangesNoRouteAndNoStatus(t *testing.T) {
	proxy := filter{"gpustack-ai-proxy", aiProxyConfig}
	off := fifty(start(t, nil, proxy))
	for _, r := range off {
		require.Equal(t, result{"200", route}, r)
	}
	for name, c := range map[string]struct {
		configuration string
		acted         func(*gateway)
	}{
		"steers always": {`{"override":"always"}`, func(g *gateway) {
			assert.EqualValues(g.t, 50, g.count("overrides_enforced"))
		}},
		"blocks": {`{"slow_threshold":"50ms","confirm_count":1,"check_interval":"0s"}`, func(g *gateway) {
			assert.EqualValues(g.t, 1, g.count("blocks_enforced"))
			assert.EqualValues(g.t, 49, g.count("overrides_enforced"), "all behind the first, which was slow")
		}},
		"observes": {`{"mode":"observe","slow_threshold":"50ms","confirm_count":1}`, func(g *gateway) {
			assert.EqualValues(g.t, 1, g.count("blocks_observed"))
			assert.Zero(g.t, g.count("overrides_enforced"))
		}},
		"off": {`{"mode":"off"}`, func(g *gateway) {
			assert.Empty(g.t, g.breaker.Metrics())
		}},
	} {
		breaker := filter{ours, c.configuration}
		for place, chain := range map[string][]filter{"behind": {proxy, breaker}, "in front": {breaker, proxy}} {
			t.Run(name+", "+place, func(t *testing.T) {
				g := start(t, nil, chain...)
				g.upstream = onlyASlow
				assert.Equal(t, off, fifty(g))
				c.acted(g)
			})
		}
	}
}

func onlyASlow(host string) time.Duration {
	if host == hostA {
		return slowUpstream
	}
	return 10 * time.Millisecond
}

// The host would show it: a plugin that does write headers behind ai-proxy gets a 404.
func TestCaseB16AWriterOfHeadersBehindTheProxyLosesTheRoute(t *testing.T) {
	proxy, writer := filter{"gpustack-ai-proxy", aiProxyConfig}, filter{"transformer", transformerConfig}
	for _, r := range fifty(start(t, nil, proxy, writer)) {
		require.Equal(t, result{"404", ""}, r)
	}
	for _, r := range fifty(start(t, nil, writer, proxy)) {
		require.Equal(t, result{"200", route}, r, "in front, the host is still the client's")
	}
}
