package backend_test

import (
	"io"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"endpoint-breaker/internal/backend"
)

func newGRPCClient(t *testing.T, s *backend.Server) testgrpc.TestServiceClient {
	t.Helper()
	connection, err := grpc.NewClient(s.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, connection.Close()) })
	return testgrpc.NewTestServiceClient(connection)
}

func payload(text string) *testgrpc.Payload { return &testgrpc.Payload{Body: []byte(text)} }

func TestAUnaryCallSendsThePayloadBack(t *testing.T) {
	s := newServer(t)
	client := newGRPCClient(t, s)
	_, err := client.EmptyCall(t.Context(), &testgrpc.Empty{})
	require.NoError(t, err)
	response, err := client.UnaryCall(t.Context(), &testgrpc.SimpleRequest{Payload: payload("hello")})
	require.NoError(t, err)
	assert.Equal(t, "hello", string(response.GetPayload().GetBody()))
	assert.Equal(t, "/grpc.testing.TestService/UnaryCall", s.Requests()[1].Path)
	assert.Equal(t, "HTTP/2.0", s.Requests()[1].Proto)
}

// The second message goes out only when the first has come back.
func TestAStreamingCallSendsEachMessageBackBeforeItsEnd(t *testing.T) {
	s := newServer(t)
	s.Serve(backend.After(backend.For(time.Millisecond), backend.Usual()))
	stream, err := newGRPCClient(t, s).FullDuplexCall(t.Context())
	require.NoError(t, err)
	for _, text := range []string{"first", "second"} {
		require.NoError(t, stream.Send(&testgrpc.StreamingOutputCallRequest{Payload: payload(text)}))
		response, err := stream.Recv()
		require.NoError(t, err)
		assert.Equal(t, text, string(response.GetPayload().GetBody()))
	}
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestAWebSocketSendsEachMessageBack(t *testing.T) {
	s := newServer(t)
	s.Serve(backend.After(backend.For(time.Millisecond), backend.Usual()))
	connection, _, err := websocket.Dial(t.Context(), "ws://"+s.Address()+"/ws", nil)
	require.NoError(t, err)
	connection.SetReadLimit(-1)
	for _, message := range []string{"hello", string(make([]byte, 1<<20))} {
		require.NoError(t, connection.Write(t.Context(), websocket.MessageText, []byte(message)))
		kind, back, err := connection.Read(t.Context())
		require.NoError(t, err)
		assert.Equal(t, websocket.MessageText, kind)
		assert.Equal(t, backend.DigestOf([]byte(message)), backend.DigestOf(back))
	}
	require.NoError(t, connection.Close(websocket.StatusNormalClosure, ""))
	eventually(t, func() bool { return s.Requests()[0].Ended }, "the end of the conversation")
}

func TestAStopEndsConversations(t *testing.T) {
	s := newServer(t)
	connection, _, err := websocket.Dial(t.Context(), "ws://"+s.Address()+"/ws", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.CloseNow() })
	stream, err := newGRPCClient(t, s).FullDuplexCall(t.Context())
	require.NoError(t, err)
	eventually(t, func() bool { return s.Count() == 2 }, "both conversations")

	require.NoError(t, s.Stop())
	_, _, err = connection.Read(t.Context())
	require.Error(t, err)
	_, err = stream.Recv()
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF, "cut off, not ended")
	for _, r := range s.Requests() {
		assert.True(t, r.Ended, r.Path)
	}
}
