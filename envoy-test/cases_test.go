package envoytest

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// What went wrong in similar systems, by number.
func TestCases(t *testing.T) {
	t.Parallel()
	const configuration = `{"slow_threshold":"1500ms","dedup_window":"0s","confirm_window":"30s","block_ttl":"10m","check_interval":"100ms","_rules_":[
		{"_match_route_":["b10"],"block_ttl":"10s"},
		{"_match_route_":["off-gold","off-rest"],"mode":"off"}
	]}`
	neighbours := []neighbour{
		{
			eds:   true,
			route: "b10", test: hostListChanges,
			rule: "B10 a host list update lets no blocked host back in",
		},
		{
			eds:   true,
			route: "b11", test: hostIsRemoved,
			rule: "B11 a host that was removed is passed over, and not asked again",
		},
		{
			adaptDomain: onAndOff,
			route:       "b16", test: headersAreRewritten,
			rule: "B16 the override changes no route, also when a filter has rewritten headers",
		},
		{
			adaptDomain: rewrites(":authority", "inside"),
			route:       "b16-host", test: hostIsRewritten,
			rule: "B16 limit: an override makes Envoy match a rewritten Host",
		},
		{
			route: "b20", test: headersAreForged,
			rule: "B20 headers of clients and upstreams neither steer nor measure",
		},
	}
	if ipv6(t) {
		neighbours = append(neighbours, neighbour{
			ipv6:  true,
			route: "b19", hosts: 2, test: ipv6Hosts,
			rule: "B19 of two IPv6 hosts that differ in their port, only the blocked one is out",
		})
	}
	runWitnessed(t, setup{workers: 2, configuration: configuration, manager: trust(t), filters: func(breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
		return slices.Insert(breaker, 0, lua(t))
	}}, neighbours...)
}

// trust makes Envoy hand on what clients and upstreams say in its own headers; usually it removes
// or replaces that.
func trust(t *testing.T) func(*hcmv3.HttpConnectionManager) {
	t.Helper()
	router := packed(t, &routerv3.Router{SuppressEnvoyHeaders: true})
	return func(m *hcmv3.HttpConnectionManager) {
		m.InternalAddressConfig = &hcmv3.HttpConnectionManager_InternalAddressConfig{
			CidrRanges: []*corev3.CidrRange{{AddressPrefix: "127.0.0.1", PrefixLen: wrapperspb.UInt32(32)}},
		}
		last := m.GetHttpFilters()[len(m.GetHttpFilters())-1]
		last.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: router}
	}
}

// ipv6 reports whether this machine has IPv6; in CI it must.
func ipv6(t *testing.T) bool {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp6", "[::1]:0")
	if err == nil {
		return assert.NoError(t, l.Close())
	}
	require.Empty(t, os.Getenv("CI"), "B19 needs an IPv6 loopback: %v", err)
	t.Logf("B19 is left out, for there is no IPv6 loopback: %v", err)
	return false
}

func hostListChanges(w *world) {
	a, b, c := w.hosts[0], w.hosts[1], w.hosts[2]
	w.spread(12)
	w.blockBy(a, backend.Hang())
	block := w.blockOf(a)

	d := w.addHost("D")
	w.setHosts(a, b, c, d)
	all := w.until("D is used", func(y way) bool { return y.obeyed("D") })
	w.setHosts(d, c, b, a)
	all = append(all, w.ways(20)...)
	w.setHosts(d, c, b)
	all = append(all, w.ways(20)...)
	w.setHosts(b, c, d, a)
	all = append(all, w.ways(20)...)
	all = append(all, w.until("A is used again", func(y way) bool {
		return y.served == "A" && y.ended.After(block.at.Add(block.For))
	})...)

	var during ways
	for _, y := range all {
		if y.ended.Before(block.at.Add(block.For - time.Second)) {
			during = append(during, y)
		}
	}
	assert.Zero(w.t, during.asked()["A"])
	assert.LessOrEqual(w.t, during.asked()[""], int(w.metric("discoveries_enforced")), "all the others were sent to a host")
	assert.LessOrEqual(w.t, during.served()["A"], during.asked()[""], "Envoy's own choices apart")
	assert.Equal(w.t, map[string]int{"": 12}, w.ways(12).asked(), "nothing is blocked any more")
	assert.Len(w.t, w.blocks(), 1)
}

func hostIsRemoved(w *world) {
	a, b, c := w.hosts[0], w.hosts[1], w.hosts[2]
	w.spread(12)
	w.blockBy(a, backend.Hang())
	w.setHosts(a, c)
	w.passedOverAndDropped(b)
	assert.Equal(w.t, map[string]int{"C": 20}, w.ways(20).served())
}

// lua runs the code of the domain, or none. It leaves it to others to have routes matched again.
func lua(t *testing.T) *hcmv3.HttpFilter {
	t.Helper()
	return httpFilter(t, luaFilter, &luav3.Lua{ClearRouteCache: wrapperspb.Bool(false)})
}

const luaFilter = "lua"

// rewrites gives requests to the domain another value of a header, in front of the plugin.
func rewrites(header, value string) func(*routev3.VirtualHost) {
	return func(domain *routev3.VirtualHost) {
		code := fmt.Sprintf("function envoy_on_request(request) request:headers():replace(%q, %q) end", header, value)
		source := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: code}}
		var config anypb.Any
		if err := config.MarshalFrom(&luav3.LuaPerRoute{Override: &luav3.LuaPerRoute_SourceCode{SourceCode: source}}); err != nil {
			panic(err) // a message like this can always be written
		}
		domain.TypedPerFilterConfig = map[string]*anypb.Any{luaFilter: &config}
	}
}

// routeHeader tells a client which route its request has taken.
const routeHeader = "X-Route"

// onAndOff has the same two routes with the plugin and without; what Lua rewrites matches none.
func onAndOff(domain *routev3.VirtualHost) {
	rewrites("x-model", "m-2024")(domain)
	cluster := domain.GetRoutes()[0].GetRoute().GetCluster()
	domain.Routes = nil
	for _, prefix := range []string{"on", "off"} {
		gold := namedRoute(prefix+"-gold", "/"+prefix, cluster)
		gold.Match.Headers = []*routev3.HeaderMatcher{{
			Name: "x-tenant",
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "gold"},
			}},
		}}
		domain.Routes = append(domain.Routes, gold, namedRoute(prefix+"-rest", "/"+prefix, cluster))
	}
	domain.Routes = append(domain.Routes, namedRoute("b16", "/v1", cluster))
}

func namedRoute(name, prefix, cluster string) *routev3.Route {
	route := envoy.Route(name, prefix, cluster)
	route.ResponseHeadersToAdd = []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: routeHeader, Value: name}}}
	return route
}

func headersAreRewritten(w *world) {
	w.spread(12)
	w.blockBy(w.hosts[0], backend.Hang())
	for i := range 50 {
		tenant, route := "gold", "-gold"
		if i%2 > 0 {
			tenant, route = "silver", "-rest"
		}
		on := w.send(http.MethodGet, "/on", nil, "x-tenant", tenant, "x-model", "alias")
		require.NoError(w.t, on.err)
		off := w.send(http.MethodGet, "/off", nil, "x-tenant", tenant, "x-model", "alias")
		require.NoError(w.t, off.err)

		require.NotEmpty(w.t, on.headers.Get(askedHeader), "the plugin has changed the request")
		require.Empty(w.t, off.headers.Get(askedHeader))
		require.Equal(w.t, http.StatusOK, on.status)
		require.Equal(w.t, http.StatusOK, off.status)
		require.Equal(w.t, "on"+route, on.headers.Get(routeHeader))
		require.Equal(w.t, "off"+route, off.headers.Get(routeHeader))
	}
	for _, h := range w.hosts {
		for _, r := range h.Requests() {
			require.Equal(w.t, "m-2024", r.Header.Get("x-model"), "the other filter has changed it, too")
		}
	}
}

// Without a block the route stays the one that was found by the client's Host. With one, the
// plugin sets a header, and a stock Envoy then looks for a route again, by the Host as it is now.
func hostIsRewritten(w *world) {
	for range 12 {
		require.Equal(w.t, http.StatusOK, w.try().status)
	}
	w.blockBy(w.hosts[0], backend.Hang())
	for range 12 {
		require.Equal(w.t, http.StatusNotFound, w.try().status)
	}
}

func ipv6Hosts(w *world) {
	a, b := w.hosts[0], w.hosts[1]
	w.spread(8)
	w.blockBy(a, backend.Hang())
	assert.Equal(w.t, map[string]int{"B": 20}, w.ways(20).served())

	r := w.send(http.MethodGet, "/v1/models", nil)
	require.NoError(w.t, r.err)
	override, err := base64.StdEncoding.DecodeString(r.headers.Get(askedHeader))
	require.NoError(w.t, err)
	assert.Equal(w.t, b.Address(), string(override))
	assert.Regexp(w.t, `^\[::1\]:\d+$`, string(override))
}

func headersAreForged(w *world) {
	a, b := w.hosts[0], w.hosts[1]
	for _, h := range w.hosts {
		h.Serve(backend.WithHeader("x-envoy-upstream-service-time", "99999", backend.Usual()))
	}
	w.client.Transport = withHeaders{RoundTripper: w.client.Transport, headers: map[string]string{
		"x-envoy-attempt-count": "9", "x-envoy-upstream-service-time": "99999",
		"x-higress-upstream": b.Address(), "x-higress-llm-latency": "99999",
	}}
	told := w.send(http.MethodGet, "/v1/models", nil).headers.Get("x-envoy-upstream-service-time")
	require.Equal(w.t, "99999", told, "the plugin can see what the host says")
	forged := []string{
		encoded(b.Address()), b.Address(), encoded(a.Address()), a.Address(), "not base64!", encoded("nonsense"), "",
	}
	slow := 0 // answers that a busy machine has held up
	for _, value := range forged {
		all := w.ways(12, envoy.HostHeader, value)
		even(w.t, all, "A", "B", "C")
		assert.Equal(w.t, map[string]int{"": 12}, all.asked())
		slow += all.slower(1500 * time.Millisecond)
	}
	assert.LessOrEqual(w.t, w.metric("samples"), float64(slow))
	for _, h := range w.hosts {
		for _, r := range h.Requests() {
			require.Equal(w.t, "9", r.Header.Get("x-envoy-attempt-count"), "the plugin can see what the client says")
		}
	}
	assert.Zero(w.t, w.metric("samples_unattributed"))

	w.blockBy(a, backend.Hang())
	assert.Zero(w.t, w.metric("samples_unattributed"), "the attempts are counted by Envoy")
	for _, value := range forged {
		all := w.ways(12, envoy.HostHeader, value)
		even(w.t, all, "B", "C")
		assert.Equal(w.t, all.asked(), all.served())
	}
}

// withHeaders adds headers to each request.
type withHeaders struct {
	http.RoundTripper
	headers map[string]string
}

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.headers {
		r.Header.Set(name, value)
	}
	return h.RoundTripper.RoundTrip(r)
}
