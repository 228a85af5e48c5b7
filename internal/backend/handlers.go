package backend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Usual answers at once: gRPC calls of grpc.testing.TestService (EmptyCall, and UnaryCall
// and FullDuplexCall, which send each payload back as it came), /ws with a WebSocket
// that sends each message back (HTTP/1.1 only), everything else with 200 and "ok".
func Usual() http.Handler {
	grpcServer := newGRPC()
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", echoWebSocket)
	mux.Handle("/", whole(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) {
			grpcServer.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// After takes the whole request, waits, and hands it on; of a gRPC call or a WebSocket
// it takes the headers only, because its body is a conversation. When the client leaves
// first, or the server stops, there is no answer.
func After(wait Wait, then http.Handler) http.Handler {
	return whole(func(w http.ResponseWriter, r *http.Request) {
		if wait(r.Context()) != nil {
			panic(http.ErrAbortHandler)
		}
		then.ServeHTTP(w, r)
	})
}

// Hang never answers, not even with headers; it ends when the client leaves or the
// server stops.
func Hang() http.Handler { return After(Until(nil), http.NotFoundHandler()) }

// Drop closes the connection without an answer (over HTTP/2: resets the stream).
func Drop() http.Handler {
	return whole(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Status answers at once with the code and no body.
func Status(code int) http.Handler {
	return whole(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// WithHeader adds a header to the answer of then.
func WithHeader(name, value string, then http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add(name, value)
		then.ServeHTTP(w, r)
	})
}

// Events answers with a text/event-stream: headers at once, then, after the wait, three
// events ("data: 1" …) and the end.
func Events(first Wait) http.Handler {
	return whole(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		if http.NewResponseController(w).Flush() != nil || first(r.Context()) != nil {
			panic(http.ErrAbortHandler)
		}
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i+1)
			_ = http.NewResponseController(w).Flush() // a client that has left hears nothing
		}
	})
}

// Digest is the JSON that Echo answers with: what arrived as the request's body.
type Digest struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// DigestOf is what Echo answers to that body.
func DigestOf(body []byte) Digest {
	sum := sha256.Sum256(body)
	return Digest{Bytes: int64(len(body)), SHA256: hex.EncodeToString(sum[:])}
}

// Echo answers with the Digest of the request's body.
func Echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(DigestOf(keepBody(r))) // a client that has left hears nothing
	})
}

// whole hands a request on when it is complete, a conversation at once.
func whole(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !isConversation(r) {
			keepBody(r)
		}
		then(w, r)
	}
}

// keepBody reads the body to its end, and puts it back for the next reader. A request
// that breaks off gets no answer.
func keepBody(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// isConversation tells whether the client may wait for an answer before it sends on.
func isConversation(r *http.Request) bool {
	return isGRPC(r) || r.Header.Get("Upgrade") != ""
}

func isGRPC(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}
