// Package modelserver is a backend that speaks like an LLM inference server
// (the OpenAI shape that vLLM, SGLang and others offer) and can be made slow and
// healed while it serves.
package modelserver

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

const requestIDHeader = "X-Request-Id"

// Options describe one server. The zero value answers at once.
type Options struct {
	Name string // goes into ServedByHeader and the model list's owner
	// Model is the one model served; a request for another one gets a 404, one
	// that names none is served.
	Model string
	// FirstToken is the median time from a complete request to the first token.
	FirstToken time.Duration
	// PerToken is the median time for each token after the first.
	PerToken time.Duration
	// PerPromptToken is the median time that each token of the prompt adds to the
	// first one: reading a long prompt takes a healthy server longer, too. Prompt
	// tokens are what usage.prompt_tokens says, four bytes of content to a token.
	PerPromptToken time.Duration
	// Jitter is the sigma of the log-normal factor on a request's times:
	// 0 = none, 0.2 = 95 % of the requests within ×0.67 … ×1.48.
	Jitter float64
	// Seed decides the jitter: same seed and same order of arrival, same times.
	Seed uint64
}

// Server is the model server: an http.Handler, which Listen also puts on a TCP
// port of its own. Once Listen has returned, or if it is never called, all methods
// may be called from any goroutine.
type Server struct {
	options Options
	mux     *http.ServeMux
	paces   *paces
	health  health

	mu       sync.Mutex
	arrivals []time.Time

	http *httpserver.Server // nil before Listen
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	s := &Server{
		options: o,
		mux:     http.NewServeMux(),
		paces:   newPaces(o),
	}
	s.mux.HandleFunc("POST /v1/chat/completions", s.chatCompletions)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /health", s.healthCheck)
	return s
}

// ServeHTTP answers one request. A request id that came with it goes back with the
// answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(ServedByHeader, s.options.Name)
	if id := r.Header.Get(requestIDHeader); id != "" {
		w.Header().Set(requestIDHeader, id)
	}
	s.mux.ServeHTTP(w, r)
}

// Listen serves on a free port of 127.0.0.1 until Close, HTTP/1.1 and HTTP/2 without
// TLS (with prior knowledge) alike. Call it once.
func (s *Server) Listen(ctx context.Context) error {
	server, err := httpserver.Listen(ctx, "127.0.0.1:0", s)
	if err != nil {
		return fmt.Errorf("model server %s: %w", s.options.Name, err)
	}
	s.http = server
	return nil
}

// Name is the name the server was given.
func (s *Server) Name() string { return s.options.Name }

// Address is "127.0.0.1:port", empty before Listen.
func (s *Server) Address() string {
	if s.http == nil {
		return ""
	}
	return s.http.Address()
}

// Close ends all connections, also those of requests that still wait.
func (s *Server) Close() error {
	if s.http == nil {
		return nil
	}
	return s.http.Close()
}

// Arrivals tells when each chat completion arrived, in order; a request counts at
// its arrival, however and whenever it ends.
func (s *Server) Arrivals() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.arrivals...)
}

// Requests is how many chat completions have arrived.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrivals)
}

func (s *Server) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals = append(s.arrivals, time.Now())
}
