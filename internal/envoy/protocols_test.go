package envoy_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/envoy"
)

func unencryptedHTTP2() *http.Protocols {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	return p
}

func TestHTTP2WithoutTLSIsSpokenOnBothSides(t *testing.T) {
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto)
	}))
	host.Config.Protocols = unencryptedHTTP2()
	host.Start()
	t.Cleanup(host.Close)
	cluster, err := envoy.HTTP2(envoy.StaticCluster(models, host.Listener.Addr().String()))
	require.NoError(t, err)
	var seen collected[envoy.Access]
	e := start(t, envoy.Setup{
		Listener: listener(t, envoy.Route("all", "/", models)), Clusters: []*clusterv3.Cluster{cluster}, OnAccess: seen.add,
	})

	transport := &http.Transport{Protocols: unencryptedHTTP2()}
	defer transport.CloseIdleConnections()
	status, body := getWith(t, &http.Client{Transport: transport}, e.URL())
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "HTTP/2.0", body, "towards the endpoint")
	eventually(t, func() bool { return len(seen.get()) > 0 }, "the entry")
	assert.Equal(t, "HTTP/2", seen.get()[0].Protocol, "from the client")
}

func TestWebSocketsPass(t *testing.T) {
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if !assert.NoError(t, err) {
			return
		}
		defer func() { _ = c.CloseNow() }()
		kind, message, err := c.Read(r.Context())
		assert.NoError(t, err)
		assert.NoError(t, c.Write(r.Context(), kind, append(message, " yourself"...)))
	})
	e := start(t, eds(envoy.Setup{Listener: listener(t, envoy.Route("all", "/", models))}, host))
	c, _, err := websocket.Dial(soon(t), e.URL(), &websocket.DialOptions{HTTPClient: client(t)})
	require.NoError(t, err)
	defer func() { _ = c.CloseNow() }()
	require.NoError(t, c.Write(soon(t), websocket.MessageText, []byte("hello")))
	_, message, err := c.Read(soon(t))
	require.NoError(t, err)
	assert.Equal(t, "hello yourself", string(message))
}

func TestEndpointsMayBeIPv6(t *testing.T) {
	socket, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	host := &httptest.Server{Listener: socket, Config: &http.Server{Handler: http.NotFoundHandler()}}
	host.Start()
	t.Cleanup(host.Close)
	var seen collected[envoy.Access]
	e := start(t, eds(envoy.Setup{Listener: listener(t, envoy.Route("all", "/", models)), OnAccess: seen.add}, socket.Addr().String()))
	status, _ := get(t, e.URL())
	assert.Equal(t, http.StatusNotFound, status)
	eventually(t, func() bool { return len(seen.get()) > 0 }, "the entry")
	assert.Equal(t, socket.Addr().String(), seen.get()[0].Host)
}

func TestTheConnectionManagerCanBeChanged(t *testing.T) {
	l := listener(t, answering(http.StatusOK))
	require.NoError(t, envoy.EditManager(l, func(m *hcmv3.HttpConnectionManager) { m.ServerName = "mine" }))
	e := start(t, envoy.Setup{Listener: l})
	response, err := client(t).Get(e.URL())
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, "mine", response.Header.Get("Server"))
}
