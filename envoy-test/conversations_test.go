package envoytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
)

// markHeader is how a request is found again among those that reached the hosts.
const markHeader = "X-Mark"

// conversation is one request and its answer in one of the ways that clients speak. It returns
// what the client has got, in words that are the same whenever all is well, and fails the test
// when the answer is not the right one.
type conversation func(ctx context.Context, w *world, mark string) string

// asks is a request of net/http and its answer.
type asks struct {
	client *http.Client
	method string
	path   string
	body   func() io.Reader // nil = none
	digest backend.Digest   // what an echo must answer; zero = the answer is "ok"
	header http.Header
	// trailer comes behind the body.
	trailer http.Header
}

func (a asks) converse(ctx context.Context, w *world, mark string) string {
	w.t.Helper()
	var body io.Reader
	if a.body != nil {
		body = a.body()
	}
	request, err := http.NewRequestWithContext(ctx, a.method, w.envoy.URL()+a.path, body)
	require.NoError(w.t, err)
	request.Header = a.header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set(markHeader, mark)
	request.Trailer = a.trailer.Clone()
	response, err := a.client.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, response.StatusCode)
	assert.Empty(w.t, response.Header.Values(envoy.HostHeader), "the client must not get the header")
	a.check(w.t, answer)
	return fmt.Sprintf("%s %s %v %s", response.Proto, response.Status, steady(response.Header), answer)
}

func (a asks) check(t *testing.T, answer []byte) {
	t.Helper()
	switch {
	case a.method == http.MethodHead:
		assert.Empty(t, answer)
	case a.digest == backend.Digest{}:
		assert.Equal(t, "ok", string(answer))
	default:
		var got backend.Digest
		require.NoError(t, json.Unmarshal(answer, &got), string(answer))
		assert.Equal(t, a.digest, got, "the body must arrive as it was sent")
	}
}

// steady are the headers that are the same each time.
func steady(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{
		markHeader, backend.ServedByHeader, "Date", "X-Request-Id", "X-Envoy-Upstream-Service-Time", "Grpc-Timeout", "Sec-Websocket-Key",
	} {
		h.Del(name)
	}
	return h
}

// noise is a body that compresses badly and is the same each time.
func noise(size int) []byte {
	body := make([]byte, size)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(body)
	return body
}

// pieces hides how long a body is, so that it goes out in chunks.
type pieces struct{ io.Reader }

func inPieces(body []byte) func() io.Reader {
	return func() io.Reader { return pieces{bytes.NewReader(body)} }
}

func whole(body []byte) func() io.Reader { return func() io.Reader { return bytes.NewReader(body) } }

// expectsContinue sends the body when it has been asked for it, and not before.
func expectsContinue(a asks) conversation {
	return func(ctx context.Context, w *world, mark string) string {
		w.t.Helper()
		var asked atomic.Bool
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { asked.Store(true) }})
		a.header = http.Header{"Expect": {"100-continue"}}
		got := a.converse(ctx, w, mark)
		assert.True(w.t, asked.Load(), "the client must have been told to go on")
		return got
	}
}

// overGRPC dials for one call.
func overGRPC(call func(context.Context, *testing.T, testgrpc.TestServiceClient, grpc.CallOption)) conversation {
	return func(ctx context.Context, w *world, mark string) string {
		w.t.Helper()
		connection, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(w.envoy.URL(), "http://"),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(w.t, err)
		defer func() { assert.NoError(w.t, connection.Close()) }()
		ctx = metadata.AppendToOutgoingContext(ctx, markHeader, mark)
		var headers metadata.MD
		call(ctx, w.t, testgrpc.NewTestServiceClient(connection), grpc.Header(&headers))
		require.NotEmpty(w.t, headers, "the headers of the answer must be known")
		assert.Empty(w.t, headers.Get(envoy.HostHeader), "the client must not get the header")
		return "as it was sent"
	}
}

func callsUnary(ctx context.Context, t *testing.T, client testgrpc.TestServiceClient, headers grpc.CallOption) {
	t.Helper()
	sent := noise(100 << 10)
	got, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: &testgrpc.Payload{Body: sent}}, headers)
	require.NoError(t, err)
	require.True(t, bytes.Equal(sent, got.GetPayload().GetBody()))
}

// talks sends a message when the one before has come back: whoever holds the stream back until
// its end never sees that end.
func talks(ctx context.Context, t *testing.T, client testgrpc.TestServiceClient, headers grpc.CallOption) {
	t.Helper()
	stream, err := client.FullDuplexCall(ctx, headers)
	require.NoError(t, err)
	for size := range 3 {
		sent := noise(1 << (5 * size))
		require.NoError(t, stream.Send(&testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: sent}}))
		got, err := stream.Recv()
		require.NoError(t, err)
		require.True(t, bytes.Equal(sent, got.GetPayload().GetBody()))
	}
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}

// opensWebSocket sends messages there and back.
func opensWebSocket(ctx context.Context, w *world, mark string) string {
	w.t.Helper()
	socket, response, err := websocket.Dial(ctx, w.envoy.URL()+"/ws", &websocket.DialOptions{
		HTTPClient: w.client, HTTPHeader: http.Header{markHeader: {mark}},
	})
	require.NoError(w.t, err)
	defer func() { _ = socket.CloseNow() }()
	socket.SetReadLimit(-1)
	assert.Empty(w.t, response.Header.Values(envoy.HostHeader), "the client must not get the header")
	for _, sent := range [][]byte{[]byte("hello"), noise(100 << 10)} {
		require.NoError(w.t, socket.Write(ctx, websocket.MessageBinary, sent))
		_, got, err := socket.Read(ctx)
		require.NoError(w.t, err)
		require.True(w.t, bytes.Equal(sent, got))
	}
	require.NoError(w.t, socket.Close(websocket.StatusNormalClosure, ""))
	return response.Status
}
