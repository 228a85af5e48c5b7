package wasmhost

import (
	"errors"
	"strconv"
	"time"
)

// Cluster is what a plugin finds behind the name of a cluster that it calls
// itself. The zero value is a cluster whose hosts refuse every connection; a
// name that is not in Options.Clusters is a cluster that Envoy does not know,
// and a call to it fails at once. gRPC calls never find a connection.
type Cluster struct {
	// HTTP answers HTTP calls. It runs inside the call, on the worker's goroutine,
	// so one for several workers must be safe for concurrent use; the plugin gets
	// the answer at the next Deliver. An error is a connection that is reset before
	// an answer. Nil means that no connection can be made.
	HTTP func(HTTPCall) (HTTPAnswer, error)
	// Redis opens the connection over which a worker's Redis calls go, such as
	// RedisServer. Nil means that none can be made.
	Redis func(RedisLogin) RedisClient
}

// HTTPCall is a call by proxy_http_call.
type HTTPCall struct {
	Headers, Trailers Headers
	Body              []byte
	Timeout           time.Duration // 0 = none
}

// HTTPAnswer is the answer to one.
type HTTPAnswer struct {
	Headers, Trailers Headers
	Body              []byte
}

// errRefused is what a client of a cluster without a server meets.
var errRefused = errors.New("connection refused")

// refusedAnswer is Envoy's own answer to an HTTP call when the connection fails:
// for the plugin a response like any other (the router's local reply,
// source/common/http/async_client_impl.cc).
func refusedAnswer(HTTPCall) (HTTPAnswer, error) {
	const body = "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure"
	return HTTPAnswer{
		Headers: Headers{{":status", "503"}, {"content-length", strconv.Itoa(len(body))}, {"content-type", "text/plain"}},
		Body:    []byte(body),
	}, nil
}

func (c Cluster) answerHTTP(request HTTPCall) (HTTPAnswer, error) {
	if c.HTTP == nil {
		return refusedAnswer(request)
	}
	return c.HTTP(request)
}

func (c Cluster) openRedis(login RedisLogin) RedisClient {
	if c.Redis == nil {
		return refusedRedis{}
	}
	return c.Redis(login)
}

type refusedRedis struct{}

func (refusedRedis) Do([]byte) ([]byte, error) { return nil, errRefused }

func (refusedRedis) Close() error { return nil }
