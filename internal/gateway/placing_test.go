package gateway

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

func overrideTo(address string) setting {
	return pluginIs(fakePlugin{requestHeaders: func(s *fakeStream, _ bool) wasmhost.Flow {
		s.override = address
		return wasmhost.FlowContinue
	}})
}

// deadAddress refuses connections.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

func TestWithoutAnOverrideHealthyHostsTakeTurns(t *testing.T) {
	hosts := []string{newBackend(t, sayName("a")), newBackend(t, sayName("b")), newBackend(t, sayName("c"))}
	b := newBench(t, hosts)
	require.NoError(t, b.cluster.setHealth(hosts[1], unhealthy))
	var answers strings.Builder
	for range 6 {
		_, answer := b.do(t, http.MethodGet, "")
		answers.WriteString(answer)
	}
	assert.Equal(t, "acacac", answers.String())
	states := b.Hosts()
	assert.EqualValues(t, 3, states[0].ByBalancer)
	assert.Zero(t, states[1].Placed())
	assert.EqualValues(t, 3, states[2].Placed())
}

func TestAnOverrideIsHonouredUnlessItsHostIsUnhealthyOrUnknown(t *testing.T) {
	a, b := newBackend(t, sayName("a")), newBackend(t, sayName("b"))
	for name, c := range map[string]struct {
		override, health, want string
		overridden             bool
	}{
		"healthy":   {b, healthy, "b", true},
		"degraded":  {b, degraded, "b", true},
		"unhealthy": {b, unhealthy, "a", false},
		"unknown":   {"10.0.0.1:1", healthy, "a", false},
		"none":      {"", healthy, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			bench := newBench(t, []string{a, b}, overrideTo(c.override))
			require.NoError(t, bench.cluster.setHealth(b, c.health))
			_, answer := bench.do(t, http.MethodGet, "")
			assert.Equal(t, c.want, answer)
			entry := bench.log.next(t)
			assert.Equal(t, c.overridden, entry.Overridden)
			assert.EqualValues(t, 1, bench.Hosts()[0].ByBalancer+bench.Hosts()[1].ByOverride)
		})
	}
}

func TestDegradedHostsServeWhenNoneIsHealthy(t *testing.T) {
	host := newBackend(t, sayName("a"))
	b := newBench(t, []string{host})
	require.NoError(t, b.cluster.setHealth(host, degraded))
	_, answer := b.do(t, http.MethodGet, "")
	assert.Equal(t, "a", answer)
}

func TestTheHealthOfAnUnknownHostIsAnError(t *testing.T) {
	b := newBench(t, []string{"10.0.0.1:1"})
	assert.EqualError(t, b.cluster.setHealth("10.0.0.2:2", healthy), `gateway: no host "10.0.0.2:2" in the cluster`)
}

func TestAHealthThatIsNoneIsAnError(t *testing.T) {
	const host = "10.0.0.1:1"
	b := newBench(t, []string{host})
	require.EqualError(t, b.cluster.setHealth(host, "unhealthy"),
		`gateway: health of host "10.0.0.1:1": got "unhealthy", want Healthy, Degraded or Unhealthy`)
	assert.Equal(t, healthy, b.Hosts()[0].Health, "it stays as it was")
}

func TestThePluginKnowsRouteAndHostsAndThenTheUpstream(t *testing.T) {
	host := newBackend(t, sayName("a"))
	b := newBench(t, []string{host}, pluginIs(fakePlugin{
		requestHeaders: func(s *fakeStream, _ bool) wasmhost.Flow {
			assert.Equal(t, "outbound|443||llm.dns", s.route.Cluster)
			assert.Equal(t, "chat", s.route.Name)
			assert.Equal(t, []wasmhost.Host{{Address: host, Health: healthy}}, s.route.Hosts())
			assert.Empty(t, s.upstream)
			return wasmhost.FlowContinue
		},
		responseHeaders: func(s *fakeStream) wasmhost.Flow {
			assert.Equal(t, host, s.upstream)
			assert.Equal(t, detailsViaUpstream, s.details)
			return wasmhost.FlowContinue
		},
	}))
	b.do(t, http.MethodGet, "")
}

func TestARequestWithoutAResponseGetsA503ThatThePluginSees(t *testing.T) {
	resets := newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	})
	dead := deadAddress(t)
	for name, c := range map[string]struct {
		host, details string
		flags         uint64
	}{
		"no connection": {dead, detailsConnectFailure, flagConnectFailure},
		"reset":         {resets, detailsResetBefore, flagUpstreamReset},
	} {
		t.Run(name, func(t *testing.T) {
			var seen wasmhost.Headers
			b := newBench(t, []string{c.host}, pluginIs(fakePlugin{responseHeaders: func(s *fakeStream) wasmhost.Flow {
				seen = s.response.headers
				assert.Equal(t, c.details, s.details)
				return wasmhost.FlowContinue
			}}))
			response, _ := b.do(t, http.MethodPost, "hello")
			assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
			entry := b.log.next(t)
			assert.Equal(t, c.details, entry.Details)
			assert.Equal(t, c.flags, entry.Flags)
			assert.Equal(t, c.host, entry.Host)
			assert.Equal(t, "503", valueOf(seen, ":status"))
		})
	}
}

func TestNobodyHealthyIsA503WithoutAHost(t *testing.T) {
	b := newBench(t, []string{"10.0.0.1:1"})
	require.NoError(t, b.cluster.setHealth("10.0.0.1:1", unhealthy))
	response, _ := b.do(t, http.MethodGet, "")
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	entry := b.log.next(t)
	assert.Equal(t, detailsNoHealthyUpstream, entry.Details)
	assert.Empty(t, entry.Host)
	assert.Zero(t, entry.Answered)
}

func TestAResponseThatBreaksOffBreaksTheClientsConnection(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	b := newBench(t, []string{backend})
	response, err := b.client.Get(b.URL())
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, "half", string(body))
	assert.Equal(t, detailsResetAfter, b.log.next(t).Details)
}

func TestAnAccessEntryHasItsTimesInOrder(t *testing.T) {
	b := newBench(t, []string{newBackend(t, sayName("a"))})
	b.do(t, http.MethodPost, "hello")
	entry := b.log.next(t)
	assert.Equal(t, http.StatusOK, entry.Status)
	assert.NotEmpty(t, entry.RequestID)
	assert.Less(t, entry.HeadersBegan, entry.HeadersEnded)
	assert.Less(t, entry.HeadersEnded, entry.Placed)
	assert.Less(t, entry.Placed, entry.Answered)
	assert.Less(t, entry.Answered, entry.Done)
}
