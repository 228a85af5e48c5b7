package envoytest

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"endpoint-breaker/internal/backend"
)

// departure is a way of a client to leave while it waits for an answer.
type departure struct {
	name    string
	leave   func(*world, *rawClient)
	http2   bool
	details string // Envoy's words for it
	silent  string // the same when the answer has begun; "" = the same words
	none    bool   // it never counts
}

func departures() []departure {
	const gone = "downstream_remote_disconnect"
	return []departure{
		{name: "it closes the connection", leave: hangUp, details: gone},
		{name: "it closes its half of the connection", leave: closeHalf, details: gone},
		{name: "it resets the connection", leave: resetConnection, details: gone},
		{name: "CANCEL", http2: true, leave: resets(http2.ErrCodeCancel), details: "http2.remote_reset"},
		{name: "NO_ERROR", http2: true, leave: resets(http2.ErrCodeNo), silent: "via_upstream", none: true},
		{name: "INTERNAL_ERROR", http2: true, leave: resets(http2.ErrCodeInternal), details: "http2.remote_reset"},
		{name: "REFUSED_STREAM", http2: true, leave: resets(http2.ErrCodeRefusedStream), details: "http2.remote_refuse", none: true},
		{name: "it closes the connection, HTTP-2", http2: true, leave: hangUp, details: gone},
		{name: "it resets the connection, HTTP-2", http2: true, leave: resetConnection, details: gone},
		{name: "GOAWAY, and it closes the connection", http2: true, leave: goAway, details: gone},
		{name: "it breaks the stream's rules", http2: true, leave: breakStream, details: "codec_error:The_user_callback_function_failed", none: true},
		{name: "it breaks the connection's rules", http2: true, leave: breakConnection, details: "codec_error:The_user_callback_function_failed", none: true},
	}
}

// rawClient is a connection on which one request waits.
type rawClient struct {
	net.Conn
	framer *http2.Framer // nil: HTTP/1.1
}

// waiting sends a request that some host has got when this returns.
func (w *world) waiting(overHTTP2 bool) *rawClient {
	w.t.Helper()
	before := w.arrived()
	c := &rawClient{Conn: w.dial()}
	if overHTTP2 {
		c.speakHTTP2(w, ":method", http.MethodGet, ":scheme", "http", ":authority", w.domainName(), ":path", "/v1/models")
	} else {
		_, err := fmt.Fprintf(c, "GET /v1/models HTTP/1.1\r\nHost: %s\r\n\r\n", w.domainName())
		require.NoError(w.t, err)
	}
	w.eventually("the request", func() bool { return w.arrived() > before })
	return c
}

// speakHTTP2 opens a connection of HTTP/2 and its first stream, with a request that has no body.
func (c *rawClient) speakHTTP2(w *world, headers ...string) {
	w.t.Helper()
	_, err := c.Write([]byte(http2.ClientPreface))
	require.NoError(w.t, err)
	c.framer = http2.NewFramer(c, c)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(w.t, c.framer.WriteSettings())
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for i := 0; i+1 < len(headers); i += 2 {
		require.NoError(w.t, encoder.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}))
	}
	require.NoError(w.t, c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: []byte(block.String()), EndStream: headers[1] != http.MethodConnect, EndHeaders: true,
	}))
}

// dial opens a connection to Envoy.
func (w *world) dial() net.Conn {
	w.t.Helper()
	connection, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", strings.TrimPrefix(w.envoy.URL(), "http://"))
	require.NoError(w.t, err)
	require.NoError(w.t, connection.SetDeadline(time.Now().Add(within)))
	w.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func hangUp(w *world, c *rawClient) { require.NoError(w.t, c.Close()) }

func closeHalf(w *world, c *rawClient) {
	connection, ok := c.Conn.(*net.TCPConn)
	require.True(w.t, ok)
	require.NoError(w.t, connection.CloseWrite())
}

func resetConnection(w *world, c *rawClient) {
	connection, ok := c.Conn.(*net.TCPConn)
	require.True(w.t, ok)
	require.NoError(w.t, connection.SetLinger(0))
	require.NoError(w.t, connection.Close())
}

// resets ends the stream and keeps the connection.
func resets(code http2.ErrCode) func(*world, *rawClient) {
	return func(w *world, c *rawClient) { require.NoError(w.t, c.framer.WriteRSTStream(1, code)) }
}

func goAway(w *world, c *rawClient) {
	require.NoError(w.t, c.framer.WriteGoAway(0, http2.ErrCodeNo, nil))
	require.NoError(w.t, c.Close())
}

// breakStream sends a body behind the request's end.
func breakStream(w *world, c *rawClient) {
	require.NoError(w.t, c.framer.WriteData(1, true, []byte("x")))
}

// breakConnection sends a window update that no connection may have.
func breakConnection(w *world, c *rawClient) {
	require.NoError(w.t, c.framer.WriteWindowUpdate(0, 1<<31-1))
}

// Whoever waits for a shorter time than count_aborts_after says nothing by leaving; whoever waits
// for longer does. Nothing else makes a sample under this threshold.
func clientSituations() []neighbour {
	var neighbours []neighbour
	for i, d := range departures() {
		begun := d
		begun.details = cmp.Or(d.silent, d.details)
		neighbours = append(neighbours, neighbour{
			route: fmt.Sprintf("departure-%d", i), rule: "a client leaves: " + d.name,
			test: func(w *world) { departs(w, d, backend.Hang()) },
		}, neighbour{
			route: fmt.Sprintf("departure-silent-%d", i), rule: "a client that has got headers leaves: " + d.name,
			test: func(w *world) { departs(w, begun, backend.Events(backend.Until(nil))) },
		})
	}
	return append(neighbours,
		neighbour{route: "past", test: leavesPast(false), rule: "a client leaves past the threshold: one sample"},
		neighbour{route: "past-http2", test: leavesPast(true), rule: "the same over HTTP/2: one sample"},
		neighbour{route: "moment", test: leavesAtTheMoment, rule: "clients leave when the threshold is reached: one sample each at most"},
	)
}

func departs(w *world, d departure, handler http.Handler) {
	w.serveAll(handler)
	d.leave(w, w.waiting(d.http2))
	assert.Equal(w.t, d.details, w.finished(1)[0].Details)
	w.againstNobody(1)

	later := w.waiting(d.http2)
	<-time.After(1600 * time.Millisecond)
	d.leave(w, later)
	assert.Equal(w.t, d.details, w.finished(2)[1].Details)
	if d.none {
		w.againstNobody(2)
	} else {
		w.against(w.hostAt(w.finished(2)[1].Host), "aborted")
	}
}

// hostAt is the host with that address.
func (w *world) hostAt(address string) *backend.Server {
	w.t.Helper()
	for _, h := range w.hosts {
		if h.Address() == address {
			return h
		}
	}
	w.t.Fatalf("no host at %q", address)
	return nil
}

func leavesPast(overHTTP2 bool) func(*world) {
	return func(w *world) {
		w.serveAll(backend.Hang())
		client := w.waiting(overHTTP2)
		w.against(w.asked("/v1/models"), "in_flight")
		require.NoError(w.t, client.Close())
		w.finished(1)
		w.against(w.asked("/v1/models"), "in_flight")
	}
}

// The clients leave all around the look that finds their requests late.
func leavesAtTheMoment(w *world) {
	w.serveAll(backend.Hang())
	const clients = 40
	leaving := make(chan error, clients)
	for i := range clients {
		client := w.waiting(i%2 == 0)
		time.AfterFunc(threshold-100*time.Millisecond+time.Duration(i)*5*time.Millisecond, func() { leaving <- client.Close() })
	}
	for range clients {
		require.NoError(w.t, <-leaving)
	}
	w.finished(clients)
	w.settle()
	judgement := w.judgement()
	// The others are older than the first one's block.
	assert.LessOrEqual(w.t, judgement["samples"]+judgement["samples_stale"], float64(clients))
	assert.Positive(w.t, judgement["samples"])
}
