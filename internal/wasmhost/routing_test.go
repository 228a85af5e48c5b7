package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// byHost has a route for two hosts.
func byHost(request Headers) (Route, bool) {
	host, _ := request.Get(":authority")
	switch host {
	case "llm.example":
		return testRoute, true
	case "other.example":
		return Route{Name: "other", Cluster: "outbound|80||other.dns", Hosts: func() []Host { return []Host{{Address: "10.0.9.9:80"}} }}, true
	}
	return Route{}, false
}

func openRouted(t *testing.T, change ...func(*Options)) (*probe, *Stream) {
	t.Helper()
	p := startProbe(t, change...)
	s, err := p.Worker(0).NewRoutedStream(byHost)
	require.NoError(t, err)
	t.Cleanup(func() { closeStreamOf(t, s) })
	p.said()
	return p, s
}

func TestARewrittenHostMatchesItsOwnRouteUnlessReroutingIsOff(t *testing.T) {
	for name, test := range map[string]struct{ before, want string }{
		"cleared":      {"", "other"},
		"switched off": {"property-set clear_route_cache off; ", "route"},
		"on again":     {"property-set clear_route_cache off; property-set clear_route_cache on; ", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := openRouted(t)
			flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", test.before+"header-replace request :authority other.example"), true))
			matched, found := s.Route()
			assert.True(t, found)
			assert.Equal(t, test.want, matched.Name)
		})
	}
}

func TestARequestWithoutARouteGets404FromTheRouter(t *testing.T) {
	for name, script := range map[string]string{
		"rewritten": "header-replace request :authority nowhere.example",
		"removed":   "header-remove request :authority",
		"replaced":  "headers-set all",
	} {
		t.Run(name, func(t *testing.T) {
			p, s := openRouted(t)
			flowOf(t, FlowReplied)(s.RequestHeaders(request("do-request-headers", script, "do-response-headers", "property response.code_details"), true))
			assert.Equal(t, uint32(404), s.LocalReply().StatusCode)
			assert.Contains(t, p.results(), `"route_not_found"`, "the plugin sees the answer")
			_, found := s.Route()
			assert.False(t, found)
		})
	}
}

func TestARequestThatNeverHadARouteGets404AfterTheFilters(t *testing.T) {
	p := startProbe(t)
	s, err := p.Worker(0).NewRoutedStream(func(Headers) (Route, bool) { return Route{Name: "ignored"}, false })
	require.NoError(t, err)
	defer closeStreamOf(t, s)
	flowOf(t, FlowReplied)(s.RequestHeaders(request("do-request-headers", "property route_name; property cluster_name; hosts"), false))
	assert.Equal(t, []string{notFound, notFound, notFound}, p.results())
	assert.Equal(t, uint32(404), s.LocalReply().StatusCode)
	flowOf(t, FlowReplied)(s.RequestData([]byte("x"), true))
	body, _ := s.TakeRequestBody()
	assert.Empty(t, body)
}

// What the properties show between a cleared cache and the router.
func TestTheRouteNameIsMatchedAgainWhenItIsRead(t *testing.T) {
	p, s := openRouted(t)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers",
		"header-replace request :authority other.example; property cluster_name; property route_name; property cluster_name; hosts"), true))
	assert.Equal(t, []string{
		"ok", `"outbound|443||llm.dns"`, `"other"`, `"outbound|80||other.dns"`, `10.0.9.9:80={"metrics":""}`,
	}, p.results())
}

func TestTheClustersHostsAreThoseOfTheRouteMatchedAgain(t *testing.T) {
	p, s := openRouted(t)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "header-replace request :authority other.example; hosts"), true))
	assert.Equal(t, `10.0.9.9:80={"metrics":""}`, p.results()[1])
}

func TestALaterChangeOfAHeaderDoesNotMoveARequestAtTheRouter(t *testing.T) {
	p, s := openRouted(t, func(o *Options) { o.Configuration = "ticks 100" })
	flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "return 1"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("x"), true))
	require.True(t, s.Released())
	p.said()
	p.tickScript("effective 2; header-replace request :authority other.example; property route_name; property cluster_name; hosts")
	require.NoError(t, p.Worker(0).Tick())
	assert.Equal(t, []string{"ok", "ok", `"route"`, `"outbound|443||llm.dns"`, notFound}, p.results())
	matched, _ := s.Route()
	assert.Equal(t, "route", matched.Name)
}
