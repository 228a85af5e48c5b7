package envoytest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"endpoint-breaker/internal/backend"
)

// A request's clock starts when it is complete, and a conversation's never does.
func uploadSituations() []neighbour {
	return []neighbour{
		{
			route: "upload", test: uploadsSlowly,
			rule: "a slow upload, and a quick answer: nobody",
		},
		{
			route: "upload-http2", adaptCluster: speaksHTTP2, test: overHTTP2(uploadsSlowly),
			rule: "the same over HTTP/2: nobody",
		},
		{
			route: "upload-hang", test: uploadsAndWaits,
			rule: "a slow upload, then no answer: the host, once it has had the whole for the threshold",
		},
		{
			route: "trailers", adaptCluster: speaksHTTP2, test: endsWithTrailers,
			rule: "a request ends with trailers, then no answer: the host",
		},
		{
			route: "early", test: answersEarly,
			rule: "an answer before the upload is done: nobody",
		},
		{
			route: "unread", test: nobodyReads,
			rule: "limit: the host does not read a large upload: nobody",
		},
		{
			route: "websocket", test: silentWebSocket,
			rule: "a WebSocket is silent: nobody",
		},
		{
			route: "websocket-http2", test: silentWebSocketOverHTTP2,
			rule: "a WebSocket over HTTP/2 is silent: nobody",
		},
		{
			route: "connect", adaptDomain: connects, test: silentTunnel,
			rule: "a CONNECT is silent: nobody",
		},
		{
			route: "grpc", adaptCluster: speaksHTTP2, test: talksSlowly,
			rule: "a gRPC stream in both directions goes on: nobody",
		},
	}
}

// allowConnect lets clients open tunnels.
func allowConnect(m *hcmv3.HttpConnectionManager) {
	m.UpgradeConfigs = append(m.UpgradeConfigs, &hcmv3.HttpConnectionManager_UpgradeConfig{UpgradeType: "CONNECT"})
	m.Http2ProtocolOptions = &corev3.Http2ProtocolOptions{AllowConnect: true}
}

// connects ends tunnels in Envoy, which hands their bytes to a host.
func connects(domain *routev3.VirtualHost) {
	domain.Domains = append(domain.Domains, domain.GetName()+":80")
	domain.GetRoutes()[0].Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_ConnectMatcher_{ConnectMatcher: &routev3.RouteMatch_ConnectMatcher{}}}
	action(domain).UpgradeConfigs = []*routev3.RouteAction_UpgradeConfig{{
		UpgradeType: "CONNECT", ConnectConfig: &routev3.RouteAction_UpgradeConfig_ConnectConfig{},
	}}
}

func uploadsSlowly(w *world) {
	r := w.send(http.MethodPost, "/v1/chat/completions", slowly(tooLate))
	require.NoError(w.t, r.err)
	assert.Equal(w.t, http.StatusOK, r.status)
	w.againstNobody(1)
	assert.Greater(w.t, w.finished(1)[0].Duration, threshold)
}

func uploadsAndWaits(w *world) {
	w.serveAll(backend.Hang())
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	var sending errgroup.Group
	sending.Go(func() error { return w.sendFor(ctx, http.MethodPost, "/v1/chat/completions", slowly(tooLate)).err })
	w.eventually("the whole request", func() bool {
		for _, h := range w.hosts {
			for _, r := range h.Requests() {
				if r.BodyEnded {
					return true
				}
			}
		}
		return false
	})
	assert.Empty(w.t, w.blocks(), "its time runs from now")
	w.against(w.asked("/v1/chat/completions"), "in_flight")
	leave()
	require.ErrorIs(w.t, sending.Wait(), context.Canceled)
}

// endsWithTrailers sends a request whose last chunk of the body does not end it.
func endsWithTrailers(w *world) {
	w.serveAll(backend.Hang())
	w.client.Transport = withTrailer{toDomain{w.domainName(), clientOfHTTP2(w.t).Transport}}
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	var sending errgroup.Group
	sending.Go(func() error {
		return w.sendFor(ctx, http.MethodPost, "/v1/chat/completions", inPieces([]byte("{}"))()).err
	})
	w.eventually("the request", func() bool { return w.arrived() == 1 })
	w.against(w.asked("/v1/chat/completions"), "in_flight")
	leave()
	require.ErrorIs(w.t, sending.Wait(), context.Canceled)
}

// withTrailer ends each request with one.
type withTrailer struct{ http.RoundTripper }

func (h withTrailer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Trailer = http.Header{"X-Checksum": {"1"}}
	return h.RoundTripper.RoundTrip(r)
}

// The host answers when the first bytes are there.
func answersEarly(w *world) {
	w.serveAll(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = r.Body.Read(make([]byte, 1))
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}))
	r := w.send(http.MethodPost, "/v1/chat/completions", slowly(tooLate))
	require.NoError(w.t, r.err)
	assert.Equal(w.t, http.StatusRequestEntityTooLarge, r.status)
	w.againstNobody(1)
}

// The upload is larger than what Envoy and the kernel hold back. As it never ends its clock never
// starts.
func nobodyReads(w *world) {
	release := make(chan struct{})
	w.serveAll(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = backend.Until(release)(r.Context())
		panic(http.ErrAbortHandler)
	}))
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	var sending errgroup.Group
	sending.Go(func() error {
		return w.sendFor(ctx, http.MethodPost, "/v1/chat/completions", inPieces(make([]byte, 64<<20))()).err
	})
	<-time.After(tooLate)
	assert.Equal(w.t, 1, w.arrived())
	w.againstNobody(0)
	leave()
	require.ErrorIs(w.t, sending.Wait(), context.Canceled)
	w.settle()
	assert.Empty(w.t, w.finished(0), "Envoy does not notice that the client has left")
	close(release)
	w.againstNobody(1)
	assert.Equal(w.t, "upstream_reset_before_response_started{connection_termination}", w.finished(1)[0].Details)
}

func silentWebSocket(w *world) {
	socket, response, err := websocket.Dial(w.t.Context(), w.envoy.URL()+"/ws", &websocket.DialOptions{HTTPClient: w.client})
	require.NoError(w.t, err)
	defer func() { _ = socket.CloseNow() }()
	assert.Equal(w.t, http.StatusSwitchingProtocols, response.StatusCode)
	<-time.After(tooLate)
	require.NoError(w.t, socket.Write(w.t.Context(), websocket.MessageBinary, []byte("hello")))
	_, got, err := socket.Read(w.t.Context())
	require.NoError(w.t, err)
	assert.Equal(w.t, "hello", string(got))
	require.NoError(w.t, socket.Close(websocket.StatusNormalClosure, ""))
	w.againstNobody(1)
}

func silentWebSocketOverHTTP2(w *world) {
	c := &rawClient{Conn: w.dial()}
	c.speakHTTP2(w, ":method", http.MethodConnect, ":protocol", "websocket", ":scheme", "http", ":authority", w.domainName(),
		":path", "/ws", "sec-websocket-version", "13", "sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
	for {
		frame, err := c.framer.ReadFrame()
		require.NoError(w.t, err)
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			assert.Equal(w.t, "200", headers.PseudoValue("status"))
			break
		}
	}
	<-time.After(tooLate)
	require.NoError(w.t, c.Close())
	w.againstNobody(1)
	assert.Equal(w.t, 1, w.arrived())
}

func silentTunnel(w *world) {
	c := w.dial()
	_, err := fmt.Fprintf(c, "CONNECT %s:80 HTTP/1.1\r\nHost: %[1]s:80\r\n\r\n", w.domainName())
	require.NoError(w.t, err)
	reader := bufio.NewReader(c)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	require.NoError(w.t, err)
	require.NoError(w.t, response.Body.Close())
	assert.Equal(w.t, http.StatusOK, response.StatusCode)
	<-time.After(tooLate)
	_, err = fmt.Fprint(c, "GET /inside HTTP/1.1\r\nHost: host\r\n\r\n")
	require.NoError(w.t, err)
	response, err = http.ReadResponse(reader, nil)
	require.NoError(w.t, err)
	assert.Equal(w.t, "ok", read(w.t, response))
	assert.NotEmpty(w.t, w.asked("/inside"))
	require.NoError(w.t, c.Close())
	w.againstNobody(1)
}

func talksSlowly(w *world) {
	connection, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(w.envoy.URL(), "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(w.domainName()))
	require.NoError(w.t, err)
	defer func() { assert.NoError(w.t, connection.Close()) }()
	stream, err := testgrpc.NewTestServiceClient(connection).FullDuplexCall(w.t.Context())
	require.NoError(w.t, err)
	for _, pause := range []time.Duration{tooLate, 0} { // also before the first message
		<-time.After(pause)
		require.NoError(w.t, stream.Send(&testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: []byte("hello")}}))
		got, err := stream.Recv()
		require.NoError(w.t, err)
		assert.Equal(w.t, "hello", string(got.GetPayload().GetBody()))
	}
	<-time.After(tooLate)
	require.NoError(w.t, stream.CloseSend())
	_, err = stream.Recv()
	require.Error(w.t, err)
	w.againstNobody(1)
}
