package envoytest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// firm is a configuration under which one late answer blocks, for the rest of the test, and a
// busy machine makes none late that was not meant to be.
const firm = `{"slow_threshold":"2s","dedup_window":"0s","confirm_count":1,"confirm_window":"30s","block_ttl":"10m","check_interval":"100ms"}`

// The hosts are in two clusters: clusterName speaks HTTP/1.1 with them, multiplexed HTTP/2.
const (
	multiplexed       = "outbound|8001||llm.dns"
	multiplexedPrefix = "/h2"
	grpcPrefix        = "/grpc.testing.TestService"
)

// polling is how often a condition is looked at that must come true some time.
const polling = 50 * time.Millisecond

// spoken is one row of the table.
type spoken struct {
	name    string
	cluster string
	left    bool // alone: the breaker does not choose its host
	speak   conversation
}

// sequence is how often each conversation is held; with that many one lands on each of three
// hosts when Envoy's round robin is in charge.
const sequence = 3

// TestNothingHangsAndNothingIsChangedWhileAnOverrideIsActive holds each conversation while
// nothing is blocked and again while one of the hosts is: both ends must see the same.
func TestNothingHangsAndNothingIsChangedWhileAnOverrideIsActive(t *testing.T) {
	t.Parallel()
	w := worldOfTwoProtocols(t)
	table := everythingSpoken(t, w)
	before := map[string][]exchange{}
	for _, s := range table {
		before[s.name] = w.hold(s, "before")
		require.Len(t, hostsOf(before[s.name]), sequence, "%s: %v: each host must have its share while none is blocked",
			s.name, hostsOf(before[s.name]))
	}

	blocked := w.hosts[0]
	w.blockIn(multiplexed, multiplexedPrefix, blocked)
	w.blockIn(clusterName, "/", blocked)
	serveEchoToo(blocked)

	for _, s := range table {
		w.part(s.name, func() {
			counter := "wasmcustom.endpoint_breaker.upstream." + s.cluster + ".model.metric.overrides_enforced"
			overrides, err := w.envoy.Metric(w.t.Context(), counter)
			require.NoError(w.t, err)
			during := w.hold(s, "during")
			after, err := w.envoy.Metric(w.t.Context(), counter)
			require.NoError(w.t, err)

			if s.left {
				assert.InDelta(w.t, overrides, after, 0, "nobody may choose for it")
			} else {
				assert.InDelta(w.t, overrides+sequence, after, 0, "each request must have been overridden")
				assert.NotContains(w.t, hostsOf(during), blocked.Name())
			}
			assert.Equal(w.t, withoutHosts(before[s.name]), withoutHosts(during))
		})
	}
}

func worldOfTwoProtocols(t *testing.T) *world {
	t.Helper()
	w := prepare(t, setup{workers: 1, configuration: firm, routes: func(*world) *routev3.RouteConfiguration {
		return envoy.Routes(envoy.AnyHost(
			envoy.Route("grpc", grpcPrefix, multiplexed),
			envoy.Route("http2", multiplexedPrefix, multiplexed),
			envoy.Route("http1", "/", clusterName),
		))
	}})
	cluster, err := envoy.HTTP2(envoy.StaticCluster(multiplexed, w.addresses()...))
	require.NoError(t, err)
	w.setup.more = []*clusterv3.Cluster{cluster}
	w.start()
	for _, h := range w.hosts {
		serveEchoToo(h)
	}
	return w
}

// serveEchoToo makes the host answer with the digest of the body below /echo, at once and as
// usual elsewhere.
func serveEchoToo(host *backend.Server) {
	echo, usual := backend.Echo(), backend.Usual()
	host.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/echo") {
			echo.ServeHTTP(w, r)
			return
		}
		usual.ServeHTTP(w, r)
	}))
}

// everythingSpoken is the table: each kind of client, with each kind of cluster.
func everythingSpoken(t *testing.T, w *world) []spoken {
	t.Helper()
	var table []spoken
	add := func(name, cluster string, c conversation) {
		table = append(table, spoken{name: name, cluster: cluster, speak: c})
	}
	small, large := []byte(`{"model":"m"}`), noise(5_000_000)
	smallDigest, largeDigest := backend.DigestOf(small), backend.DigestOf(large)
	for _, client := range []struct {
		name string
		http *http.Client
	}{{"HTTP/1.1", w.client}, {"HTTP/2", clientOfHTTP2(t)}} {
		for _, way := range []struct{ name, cluster, prefix string }{
			{" to HTTP/1.1: ", clusterName, ""}, {" to HTTP/2: ", multiplexed, multiplexedPrefix},
		} {
			say := func(what string, a asks) {
				a.client, a.path = client.http, way.prefix+a.path
				add(client.name+way.name+what, way.cluster, a.converse)
			}
			say("GET", asks{method: http.MethodGet, path: "/v1/models?after=a%2Fb"})
			say("HEAD", asks{method: http.MethodHead, path: "/v1/models"})
			say("POST without a body", asks{method: http.MethodPost, path: "/v1/reload"})
			say("POST", asks{method: http.MethodPost, path: "/echo", body: whole(small), digest: smallDigest})
			say("POST of 5 MB", asks{method: http.MethodPost, path: "/echo", body: whole(large), digest: largeDigest})
			say("upload of unknown length", asks{method: http.MethodPost, path: "/echo", body: inPieces(large), digest: largeDigest})
			say("upload with trailers", asks{
				method: http.MethodPost, path: "/echo", body: inPieces(small), digest: smallDigest,
				trailer: http.Header{"X-Checksum": {"1"}},
			})
			if client.http == w.client {
				add(client.name+way.name+"Expect: 100-continue", way.cluster, expectsContinue(asks{
					client: patientClient(t), method: http.MethodPost, path: way.prefix + "/echo", body: whole(large), digest: largeDigest,
				}))
			}
		}
	}
	add("gRPC unary", multiplexed, overGRPC(callsUnary))
	add("gRPC in both directions", multiplexed, overGRPC(talks))
	return append(table, spoken{name: "WebSocket", cluster: clusterName, left: true, speak: opensWebSocket})
}

func clientOfHTTP2(t *testing.T) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// patientClient waits for the 100 as long as it takes.
func patientClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{ExpectContinueTimeout: within, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// exchange is what the client and the host saw of a conversation.
type exchange struct{ host, client, upstream string }

// hold holds a conversation several times.
func (w *world) hold(s spoken, when string) []exchange {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	var exchanges []exchange
	for i := range sequence {
		mark := fmt.Sprintf("%s, %s, %d", s.name, when, i)
		client := s.speak(ctx, w, mark)
		host, request := w.arrival(mark)
		assert.Empty(w.t, request.Header.Values(envoy.HostHeader), "the host must not get the header")
		upstream := fmt.Sprintf("%s %s %s%s %v", request.Proto, request.Method, request.Host, request.Path, steady(request.Header))
		exchanges = append(exchanges, exchange{host.Name(), client, upstream})
	}
	return exchanges
}

// arrival is the request with that mark, which must have reached one host, once.
func (w *world) arrival(mark string) (*backend.Server, backend.Request) {
	w.t.Helper()
	var at []*backend.Server
	var found []backend.Request
	for _, h := range w.hosts {
		for _, r := range h.Requests() {
			if r.Header.Get(markHeader) == mark {
				at, found = append(at, h), append(found, r)
			}
		}
	}
	require.Len(w.t, found, 1, mark)
	return at[0], found[0]
}

func hostsOf(exchanges []exchange) map[string]int {
	hosts := map[string]int{}
	for _, e := range exchanges {
		hosts[e.host]++
	}
	return hosts
}

// withoutHosts leaves out what an override is there to change.
func withoutHosts(exchanges []exchange) []exchange {
	var same []exchange
	for _, e := range exchanges {
		same = append(same, exchange{client: e.client, upstream: e.upstream})
	}
	return same
}

// blockIn makes a host hang until it is blocked in the cluster that requests to the path go to,
// under a configuration where one sample is enough. When it returns no request is on its way.
func (w *world) blockIn(cluster, path string, host *backend.Server) {
	w.t.Helper()
	host.Serve(backend.Hang())
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	var clients sync.WaitGroup
	for range 2 * len(w.hosts) {
		clients.Go(func() {
			for ctx.Err() == nil {
				w.sendFor(ctx, http.MethodGet, path, nil)
			}
		})
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := w.envoy.WaitForLog(waiting, fmt.Sprintf("cluster=%q endpoint=%s for=", cluster, host.Address()))
	leave()
	clients.Wait()
	require.NoError(w.t, err)
	host.Serve(backend.Usual())
}

// waitForLine waits for a line of the log that contains the text.
func (w *world) waitForLine(text string) envoy.LogLine {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	line, err := w.envoy.WaitForLog(ctx, text)
	require.NoError(w.t, err)
	return line
}
