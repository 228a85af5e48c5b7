package backend

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Request is what reached a server, as it stands when asked for.
type Request struct {
	Arrived time.Time // when its headers were complete
	Proto   string    // "HTTP/1.1" or "HTTP/2.0"
	Method  string
	Host    string
	Path    string      // with the query, as it was sent
	Header  http.Header // as it came, without Host; not to be changed
	// BodyBytes is how much of the body was read so far, and BodyEnded that this was
	// all of it.
	BodyBytes int64
	BodyEnded bool
	// Ended tells that the server has done with it: it was answered, or cut off, or
	// its client has left.
	Ended bool
}

func newRequest(r *http.Request, now time.Time) *Request {
	return &Request{
		Arrived: now, Proto: r.Proto, Method: r.Method, Host: r.Host, Path: r.RequestURI,
		Header: r.Header.Clone(), BodyEnded: r.ContentLength == 0,
	}
}

// Requests are all requests since Start, in the order of their arrival, whatever became
// of them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]Request, 0, len(s.requests))
	for _, r := range s.requests {
		requests = append(requests, *r)
	}
	return requests
}

// Count is how many requests have arrived since Start.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// CountBetween is how many requests arrived at from or later and before to.
func (s *Server) CountBetween(from, to time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if !r.Arrived.Before(from) && r.Arrived.Before(to) {
			n++
		}
	}
	return n
}

// recordedBody notes how much of a body has been read.
type recordedBody struct {
	io.ReadCloser
	server  *Server
	request *Request
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.request.BodyBytes += int64(n)
	if errors.Is(err, io.EOF) {
		b.request.BodyEnded = true
	}
	return n, err
}
