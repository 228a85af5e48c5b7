package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// Why an exchange ended before its time.
var (
	errClientLeft = errors.New("the client left")
	errReplied    = errors.New("the plugin answered by itself")
	errReset      = errors.New("the plugin reset the stream")
	errOver       = errors.New("the exchange is over")
)

// exchange is one request and its response. Two goroutines work on it: serve, and
// the one that reads the request body.
type exchange struct {
	gateway *Gateway
	worker  *worker
	stream  stream // only inside of filter and tell
	request *http.Request
	client  *http.ResponseController
	writer  http.ResponseWriter

	ctx  context.Context // ends when the client leaves, or when the plugin ends the stream
	stop context.CancelCauseFunc

	release  sync.Once
	released chan struct{} // closed when the request headers have reached the router

	body     *requestBody // nil = the headers end the request
	access   Access
	answered bool // the client has got response headers
}

func newExchange(g *Gateway, w http.ResponseWriter, r *http.Request) *exchange {
	ctx, stop := context.WithCancelCause(r.Context())
	return &exchange{
		gateway: g, worker: pinnedWorker(r), request: r,
		client: http.NewResponseController(w), writer: w,
		ctx: ctx, stop: stop,
		released: make(chan struct{}),
	}
}

// serve runs the exchange to its end. It panics with http.ErrAbortHandler where all
// that is left to tell the client is a closed connection.
func (x *exchange) serve() {
	headers := requestHeaders(x.request)
	x.access.Worker = x.worker.index
	x.access.RequestID = valueOf(headers, "x-request-id")
	intact := x.open() && x.run(headers)
	x.stop(errOver)
	if x.body != nil {
		x.body.abandon()
	}
	x.close()
	if !intact {
		panic(http.ErrAbortHandler)
	}
}

// run reports false when the client's connection cannot be used any more.
func (x *exchange) run(headers wasmhost.Headers) bool {
	hasBody := x.request.ContentLength != 0
	x.access.HeadersBegan = x.now()
	x.filter(func(s stream) (wasmhost.Flow, error) { return s.RequestHeaders(headers, !hasBody) })
	x.access.HeadersEnded = x.now()
	if hasBody {
		x.body = startRequestBody(x)
	}
	if !x.awaitRelease() {
		return x.interrupted()
	}
	response, err := x.roundTrip()
	if err != nil {
		return x.noResponse(err)
	}
	defer func() { _ = response.Body.Close() }() // nothing of it is wanted any more
	x.access.Answered = x.now()
	x.details(detailsViaUpstream, 0)
	return x.respond(response)
}

// filter runs one callback of the stream on its worker, and then those of the answers to the calls
// that it made.
func (x *exchange) filter(callback func(stream) (wasmhost.Flow, error)) {
	x.worker.mu.Lock()
	_, err := callback(x.stream)
	released := x.stream.Released()
	if err != nil {
		x.stop(err)
	}
	x.stopIfEnded()
	x.worker.mu.Unlock()
	if released {
		x.release.Do(func() { close(x.released) })
	}
	x.worker.settle(x.ctx)
}

// stopIfEnded stops the exchange when the plugin has ended the stream, in whatever callback. It must
// run with the worker's lock held.
func (x *exchange) stopIfEnded() {
	switch {
	case x.stream.LocalReply() != nil:
		x.stop(errReplied)
	case x.stream.WasReset():
		x.stop(errReset)
	}
}

// tell reads or changes what the stream knows; it runs no callback.
func (x *exchange) tell(f func(stream)) {
	x.worker.mu.Lock()
	defer x.worker.mu.Unlock()
	f(x.stream)
}

// awaitRelease returns true when the request headers have reached the router. A
// callback of the stream releases them, or a tick or an answer that resumes it.
func (x *exchange) awaitRelease() bool {
	for x.ctx.Err() == nil {
		changed := x.worker.nextChange()
		var released bool
		x.tell(func(s stream) { released = s.Released() })
		if released {
			return true
		}
		select {
		case <-x.released:
		case <-changed:
		case <-x.ctx.Done():
		}
	}
	return false
}

func (x *exchange) open() bool {
	x.worker.mu.Lock()
	defer x.worker.mu.Unlock()
	var err error
	x.stream, err = x.worker.vm.NewStream(wasmhost.Route{
		Name:    x.gateway.options.RouteName,
		Cluster: x.gateway.options.Cluster,
		Hosts:   x.gateway.cluster.forPlugin,
	})
	if err != nil {
		x.access.Details = err.Error()
		return false
	}
	x.worker.open[x] = struct{}{}
	return true
}

func (x *exchange) close() {
	x.worker.mu.Lock()
	delete(x.worker.open, x)
	if x.stream != nil {
		// Close runs the last callbacks; what it could complain about is over.
		_ = x.stream.Close()
	}
	x.worker.mu.Unlock()
	x.worker.deliver() // to what the last callbacks have called
	x.access.Done = x.now()
	if x.gateway.options.OnAccess != nil {
		x.gateway.options.OnAccess(x.access)
	}
}

// details sets how the exchange went, for the plugin and for the access log.
func (x *exchange) details(details string, flags uint64) {
	x.access.Details, x.access.Flags = details, flags
	x.tell(func(s stream) { s.SetResponseDetails(details, flags) })
}

// interrupted ends an exchange whose ctx has ended.
func (x *exchange) interrupted() bool {
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, errReplied):
		return x.localReply()
	case errors.Is(cause, errReset):
		x.access.Details = detailsPluginReset
	case errors.Is(cause, errClientLeft), errors.Is(cause, context.Canceled):
		x.details(detailsClientLeft, flagDownstreamTermination)
	default: // a call that the plugin host refused
		x.access.Details = cause.Error()
	}
	return false
}

func (x *exchange) now() time.Duration { return x.gateway.options.Clock.Monotonic() }

func valueOf(headers wasmhost.Headers, name string) string {
	for _, pair := range headers {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}
