package backend

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// newGRPC serves grpc.testing.TestService as an http.Handler for HTTP/2, so that its
// calls are recorded and made to wait like all other requests.
func newGRPC() *grpc.Server {
	server := grpc.NewServer()
	testgrpc.RegisterTestServiceServer(server, echoService{})
	return server
}

type echoService struct {
	testgrpc.UnimplementedTestServiceServer
}

func (echoService) EmptyCall(context.Context, *testgrpc.Empty) (*testgrpc.Empty, error) {
	return &testgrpc.Empty{}, nil
}

func (echoService) UnaryCall(_ context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	return &testgrpc.SimpleResponse{Payload: r.GetPayload()}, nil
}

func (echoService) FullDuplexCall(stream testgrpc.TestService_FullDuplexCallServer) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&testgrpc.StreamingOutputCallResponse{Payload: request.GetPayload()}); err != nil {
			return err
		}
	}
}
