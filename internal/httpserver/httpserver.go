// Package httpserver puts a handler on a TCP port, for HTTP/1.1 and cleartext HTTP/2,
// and ends everything when it is closed, also requests that would wait for ever.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves from Listen until Close. Its methods may be called from any goroutine.
type Server struct {
	handler    http.Handler
	address    string
	http       *http.Server
	cutOff     context.CancelFunc // ends the context of every request
	served     chan error
	closeOnce  sync.Once
	closeError error

	mu       sync.Mutex
	closing  bool
	handlers sync.WaitGroup
}

// Listen serves the handler on address ("127.0.0.1:0": a free port) until Close. On the
// one port a client may speak HTTP/1.1, or HTTP/2 with prior knowledge. The context is
// for starting only.
func Listen(ctx context.Context, address string, handler http.Handler) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving HTTP: %w", err)
	}
	base, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{handler: handler, address: listener.Addr().String(), cutOff: cutOff, served: make(chan error, 1)}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: time.Minute,
		Protocols:         protocols(),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	go func() { s.served <- s.http.Serve(listener) }()
	return s, nil
}

func protocols() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return &p
}

// Address is "ip:port", with brackets around an IPv6 address.
func (s *Server) Address() string { return s.address }

// Close takes no new connection, cuts off those that are there and the contexts of
// their requests, and returns when every handler has. A second call does no harm.
func (s *Server) Close() error {
	s.closeOnce.Do(func() { s.closeError = s.close() })
	return s.closeError
}

func (s *Server) close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	// First the connections: a handler that gives up must not look like an answer.
	err := s.http.Close()
	s.cutOff()
	s.handlers.Wait()
	if serveErr := <-s.served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// serve counts the handlers, because http.Server.Close does not wait for them.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.handlers.Done()
	s.handler.ServeHTTP(w, r)
}

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.handlers.Add(1)
	return true
}
