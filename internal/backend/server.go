// Package backend is an HTTP server for end-to-end tests: what it does with a request
// can be changed while it runs, it can be gone for a while, and it remembers
// everything that reached it.
package backend

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"endpoint-breaker/internal/httpserver"
)

// ServedByHeader names the server that answered; every answer carries it.
const ServedByHeader = "X-Served-By"

// Options describe one server.
type Options struct {
	Name string // goes into ServedByHeader
	IPv6 bool   // listen on [::1] instead of 127.0.0.1
}

// Server is one backend. All methods may be called from any goroutine.
type Server struct {
	name    string
	address string

	mu       sync.Mutex
	running  *httpserver.Server // nil = stopped
	handler  http.Handler
	requests []*Request
}

// Start serves Usual on a free port until Stop, HTTP/1.1 and HTTP/2 without TLS (with
// prior knowledge) alike. The context is for starting only.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{name: o.Name, address: "127.0.0.1:0", handler: Usual()}
	if o.IPv6 {
		s.address = "[::1]:0"
	}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Name is the name the server was given.
func (s *Server) Name() string { return s.name }

// Address is "127.0.0.1:port" or "[::1]:port", the same after a Restart.
func (s *Server) Address() string { return s.address }

// Serve decides what becomes of the requests that arrive from now on; those that are
// being served stay with what they have. The package's handlers read a request to its
// end first, as net/http needs it to notice that an HTTP/1.1 client has left. A handler
// of the caller's own must return when the request's context ends.
func (s *Server) Serve(handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Stop cuts off all connections, also those of requests that wait, and leaves the port:
// from now on it refuses connections. Nothing of the server runs any more when it
// returns. What was recorded stays. A second call does no harm.
func (s *Server) Stop() error {
	s.mu.Lock()
	running := s.running
	s.running = nil
	s.mu.Unlock()
	if running == nil {
		return nil
	}
	return running.Close()
}

// Restart serves again once Stop has returned, on the same port; it fails when somebody else has
// taken the port meanwhile. A server that runs is left as it is.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return nil
	}
	running, err := httpserver.Listen(ctx, s.address, http.HandlerFunc(s.serve))
	if err != nil {
		return fmt.Errorf("backend %s: %w", s.name, err)
	}
	s.running, s.address = running, running.Address()
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	handler, request := s.arrived(r)
	r.Body = &recordedBody{ReadCloser: r.Body, server: s, request: request}
	w.Header().Set(ServedByHeader, s.name)
	defer s.ended(request)
	handler.ServeHTTP(w, r)
}

// arrived records the request, and takes the handler of the same moment.
func (s *Server) arrived(r *http.Request) (http.Handler, *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := newRequest(r, time.Now())
	s.requests = append(s.requests, request)
	return s.handler, request
}

func (s *Server) ended(request *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request.Ended = true
}
