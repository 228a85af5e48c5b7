package wasmhost

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chainOf loads so many probes, each with one worker, on one clock.
func chainOf(t *testing.T, size int, change ...func(*Options)) (*Chain, []*probe) {
	t.Helper()
	clock := NewVirtualClock(time.Minute, wallStart)
	var probes []*probe
	var plugins []*Plugin
	for range size {
		p := startProbe(t, append([]func(*Options){func(o *Options) { o.Clock = clock }}, change...)...)
		p.said()
		probes, plugins = append(probes, p), append(plugins, p.Plugin)
	}
	chain, err := NewChain(plugins...)
	require.NoError(t, err)
	return chain, probes
}

// chainProbe is a chain of two probes with an open stream.
type chainProbe struct {
	*ChainStream
	chain       *Chain
	front, back *probe
}

func openChain(t *testing.T, change ...func(*Options)) chainProbe {
	t.Helper()
	chain, probes := chainOf(t, 2, change...)
	s, err := chain.NewStream(0, FixedRoute(testRoute))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return chainProbe{ChainStream: s, chain: chain, front: probes[0], back: probes[1]}
}

func TestARequestPassesTheFiltersForwardAndItsResponseBackward(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(), false))
	flowOf(t, FlowContinue)(c.RequestData([]byte("question"), false))
	flowOf(t, FlowContinue)(c.RequestTrailers(Headers{{"a", "1"}}))
	flowOf(t, FlowContinue)(c.ResponseHeaders(response(), false))
	flowOf(t, FlowContinue)(c.ResponseData([]byte("answer"), false))
	flowOf(t, FlowContinue)(c.ResponseTrailers(Headers{{"b", "2"}}))
	want := []string{
		"request headers size=5 end=false", "request body size=8 end=false", "request trailers size=1 end=true",
		"response headers size=2 end=false", "response body size=6 end=false", "response trailers size=1 end=true",
	}
	assert.Equal(t, want, c.front.said())
	assert.Equal(t, want, c.back.said())
	body, ended := c.TakeRequestBody()
	assert.Equal(t, "question", string(body))
	assert.True(t, ended)
	body, ended = c.TakeResponseBody()
	assert.Equal(t, "answer", string(body))
	assert.True(t, ended)
	assert.Equal(t, Headers{{"a", "1"}}, c.RequestTrailersNow())
	assert.Equal(t, Headers{{"b", "2"}}, c.ResponseTrailersNow())
}

func TestAFilterSeesWhatTheOneBeforeHasMadeOfAPiece(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "header-add request x 1",
		"do-request-body", "body-append request +",
		"do-response-headers", "header-add response y 2",
		"do-response-body", "body-append response -"), false))
	assert.Contains(t, c.back.said(), "request headers size=10 end=false")
	flowOf(t, FlowContinue)(c.RequestData([]byte("a"), true))
	flowOf(t, FlowContinue)(c.ResponseHeaders(response(), false))
	flowOf(t, FlowContinue)(c.ResponseData([]byte("b"), true))
	assert.Contains(t, c.back.said(), "request body size=2 end=true")
	assert.Contains(t, c.front.said(), "response body size=2 end=true")
	body, _ := c.TakeRequestBody()
	assert.Equal(t, "a++", string(body))
	body, _ = c.TakeResponseBody()
	assert.Equal(t, "b--", string(body))
	assert.Equal(t, Headers{{":status", "200"}, {"content-type", "text/plain"}, {"y", "2"}, {"y", "2"}}, c.ResponseHeadersNow())
	assert.Equal(t, 2, countOf(c.RequestHeadersNow(), "x"))
}

func countOf(headers Headers, name string) int {
	count := 0
	for _, entry := range headers {
		if entry[0] == name {
			count++
		}
	}
	return count
}

func TestAFilterThatStopsKeepsTheRequestFromTheNext(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowStopped)(c.RequestHeaders(request(
		"do-request-headers", "header-replace request do-request-headers say; return 1", "do-request-body", "return 1|."), false))
	assert.Empty(t, c.back.said())
	flowOf(t, FlowStopped)(c.RequestData([]byte("a"), false))
	assert.Empty(t, c.back.said())
	flowOf(t, FlowStopped)(c.RequestData([]byte("b"), false))
	assert.Equal(t, []string{"request headers size=7 end=false", "say -> ", "request body size=2 end=false"}, c.back.said(), "the back one stops its body, as its script says")
	body, _ := c.TakeRequestBody()
	assert.Empty(t, body)
	flowOf(t, FlowContinue)(c.RequestData([]byte("c"), true))
	assert.True(t, c.Released())
	body, ended := c.TakeRequestBody()
	assert.Equal(t, "abc", string(body))
	assert.True(t, ended)
}

func TestTrailersThatAFilterAddsAreNoEndForTheNextsBody(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request("do-request-body", "header-add request-trailers a 1"), false))
	flowOf(t, FlowContinue)(c.RequestData([]byte("x"), true))
	said := c.back.said()
	assert.Contains(t, said, "request body size=1 end=false")
	assert.Contains(t, said, "request trailers size=1 end=true")
}

func TestTheLastOverrideOfAChainCounts(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "override a:1; header-replace request do-request-headers override+b:2"), true))
	assert.Equal(t, "b:2", c.OverrideHost(), "of the one behind")

	c = openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "override a:1; header-replace request do-request-headers say"), true))
	assert.Equal(t, "a:1", c.OverrideHost(), "nobody else has asked")
}

func TestWhatOnePluginSetsAsAPropertyTheOthersRead(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "property shared; property-set shared yes; property-set clear_route_cache off; header-add request a b"), true))
	assert.Equal(t, "error: not found", c.front.results()[0])
	assert.Equal(t, `"yes"`, c.back.results()[0])
	value, found := c.Property("shared")
	assert.True(t, found)
	assert.Equal(t, "yes", string(value))
}

func TestSwitchingReroutingOffIsThePluginsOwn(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request("do-request-headers",
		"property-set clear_route_cache off; header-replace request do-request-headers header-replace+request+a+b"), true))
	assert.False(t, c.Filter(0).RouteCacheCleared())
	assert.True(t, c.Filter(1).RouteCacheCleared())
}

func TestALocalReplyPassesTheFiltersThatHaveSeenTheRequest(t *testing.T) {
	chain, probes := chainOf(t, 3)
	s, err := chain.NewStream(0, FixedRoute(testRoute))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.RequestHeaders(request("do-request-body", "reply 403 denied no|.", "do-response-headers", "header-add response seen 1"), false)
	require.NoError(t, err)
	flowOf(t, FlowReplied)(s.RequestData([]byte("x"), true))
	assert.Equal(t, 3, countOf(s.ResponseHeadersNow(), "seen"), "all three: the one behind has seen the headers")
	assert.Equal(t, "no", string(s.LocalReply().Body))
	for _, p := range probes[1:] {
		assert.NotContains(t, strings.Join(p.said(), "\n"), "request body", "nothing of the request goes on")
	}
	assert.Equal(t, "denied", s.LocalReply().Details)
}

func TestALocalReplyInFrontHidesTheRequestFromThoseBehind(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowReplied)(c.RequestHeaders(request("do-request-headers", "reply 429 limited slow"), true))
	assert.Empty(t, c.back.said())
	body, ended := c.TakeResponseBody()
	assert.Equal(t, "slow", string(body))
	assert.True(t, ended)
	assert.Equal(t, uint32(429), c.LocalReply().StatusCode)
	flowOf(t, FlowReplied)(c.ResponseHeaders(response(), true))
}

func TestALocalReplyGoesPastTheFiltersWhenAResponseIsOnItsWay(t *testing.T) {
	c := openChain(t, func(o *Options) { o.Configuration = "ticks 100" })
	flowOf(t, FlowContinue)(c.RequestHeaders(request("do-response-headers", "return 1", "do-response-body", "reply 502 bad body"), true))
	flowOf(t, FlowStopped)(c.ResponseHeaders(response(), false))
	flowOf(t, FlowReplied)(c.ResponseData([]byte("x"), false))
	assert.NotContains(t, strings.Join(c.front.said(), "\n"), "response", "held by the one behind")
	status, _ := c.ResponseHeadersNow().Get(":status")
	assert.Equal(t, "502", status)
	body, ended := c.TakeResponseBody()
	assert.Equal(t, "body", string(body))
	assert.True(t, ended)
	assert.Equal(t, "body", string(c.LocalReply().Body))
	c.back.tickScript("effective 2; continue response")
	require.NoError(t, c.back.Worker(0).Tick())
	assert.NotContains(t, strings.Join(c.front.said(), "\n"), "response", "what was held stays where it is")
}

func TestAReplyAfterTheClientHasHeadersResetsTheChain(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request("do-response-body", "reply 502 bad body"), true))
	flowOf(t, FlowContinue)(c.ResponseHeaders(response(), false))
	flowOf(t, FlowReset)(c.ResponseData([]byte("x"), false))
	assert.True(t, c.WasReset())
}

func TestTheAccessLogOfEveryFilterSeesTheSameHeaders(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "header-replace request do-request-headers header-replace+request+late+1",
		"do-response-headers", "header-add response seen 1",
		"do-done", "header request late; property response.headers.seen; headers-size response"), true))
	flowOf(t, FlowContinue)(c.ResponseHeaders(response(), true))
	c.front.said()
	c.back.said()
	require.NoError(t, c.Close())
	want := []string{"1", `"1"`, "status 2"} // the size is that of a map that can be written
	assert.Equal(t, want, c.front.results())
	assert.Equal(t, want, c.back.results())
	require.NoError(t, c.Close(), "once")
	assert.Empty(t, c.front.said())
}

func TestAFilterThatNeverSawTheRequestFindsItsHeadersInTheAccessLog(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowReplied)(c.RequestHeaders(request("do-request-headers", "reply 429 limited slow"), true))
	require.Equal(t, StatusOK, c.back.SharedData().Set("unseen", []byte("header request :method; property request.path"), 0))
	require.NoError(t, c.Close())
	assert.Equal(t, []string{"POST", `"/v1/chat?a=b"`}, c.back.results())
}

func TestTheChainDeliversAndTicksForAllItsPlugins(t *testing.T) {
	c := openChain(t, withOther(Cluster{}), func(o *Options) { o.Configuration = "ticks 100; http " + otherName })
	require.Equal(t, 2, c.chain.Pending(0))
	require.NoError(t, c.chain.Deliver(0))
	assert.Zero(t, c.chain.Pending(0))
	c.front.tickScript("panic boom")
	var trap *TrapError
	assert.ErrorAs(t, c.chain.Tick(0), &trap)
}

func TestAChainIsRefusedWhenItsPluginsDoNotFit(t *testing.T) {
	one, other := startProbe(t), startProbe(t, func(o *Options) { o.Workers = 2 })
	sameClock := startProbe(t, func(o *Options) { o.Workers, o.Clock = 2, one.clock })
	for want, plugins := range map[string][]*Plugin{
		"at least one plugin":           nil,
		"twice":                         {one.Plugin, one.Plugin},
		"a clock of its own":            {one.Plugin, other.Plugin},
		"2 workers and the first one 1": {one.Plugin, sameClock.Plugin},
	} {
		_, err := NewChain(plugins...)
		assert.ErrorContains(t, err, want)
	}
}

func TestTrailersThatAFilterAddsToABufferedBodyReachTheNext(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request("do-request-body", "return 1|header-add request-trailers a 1"), false))
	flowOf(t, FlowStopped)(c.RequestData([]byte("x"), false))
	_, err := c.RequestData([]byte("y"), true)
	require.NoError(t, err)
	said := c.back.said()
	assert.Contains(t, said, "request body size=2 end=false")
	assert.Contains(t, said, "request trailers size=1 end=true")
}

// The guest resumes the stream in a callback that continues as well.
func TestTrailersReachTheNextFilterOnce(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "header-replace request do-request-trailers say", "do-request-trailers", "continue request"), false))
	flowOf(t, FlowContinue)(c.RequestTrailers(Headers{{"a", "1"}}))
	assert.Equal(t, 1, strings.Count(strings.Join(c.back.said(), "\n"), "request trailers"))
}

func TestTrailersDoNotReachAFilterThatHasReplied(t *testing.T) {
	c := openChain(t)
	flowOf(t, FlowContinue)(c.RequestHeaders(request(
		"do-request-headers", "header-replace request do-request-body reply+403+denied",
		"do-request-body", "header-add request-trailers a 1"), false))
	flowOf(t, FlowReplied)(c.RequestData([]byte("x"), true))
	assert.NotContains(t, strings.Join(c.back.said(), "\n"), "request trailers")
}
