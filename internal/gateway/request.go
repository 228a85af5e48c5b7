package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

const chunkSize = 32 << 10

// requestBody takes the body from the client through the plugin to the upstream.
type requestBody struct {
	exchange *exchange
	reader   *io.PipeReader // the upstream's end
	writer   *io.PipeWriter
	trailer  http.Header // complete when reader is at its end
	complete bool        // the client has sent all of it; to be read when done is closed
	done     chan struct{}
}

func startRequestBody(x *exchange) *requestBody {
	b := &requestBody{exchange: x, trailer: http.Header{}, done: make(chan struct{})}
	b.reader, b.writer = io.Pipe()
	for name := range x.request.Trailer {
		b.trailer[name] = nil // announced to the upstream as they were to us
	}
	// Else net/http would read the whole body before it sends response headers.
	if err := x.client.EnableFullDuplex(); err != nil {
		x.stop(err)
	}
	go b.pump()
	return b
}

// abandon ends the pump if it still runs. A connection whose request is not complete is
// then of no more use, as with Envoy when a response ends before its request.
func (b *requestBody) abandon() {
	_ = b.reader.Close() // a pipe's Close returns nil
	select {
	case <-b.done:
		if b.complete {
			return
		}
	default:
	}
	// The only way to wake a Read of the body, and to keep net/http from waiting for
	// the rest of it. If it fails the connection is dead.
	_ = b.exchange.client.SetReadDeadline(time.Unix(1, 0))
	<-b.done
}

func (b *requestBody) pump() {
	defer close(b.done)
	err := b.copy()
	if err == nil {
		err = io.EOF
	}
	_ = b.writer.CloseWithError(err) // a pipe's Close returns nil
}

func (b *requestBody) copy() error {
	buffer := make([]byte, chunkSize)
	for {
		n, readErr := b.exchange.request.Body.Read(buffer)
		if n > 0 {
			b.exchange.filter(func(s stream) (wasmhost.Flow, error) { return s.RequestData(buffer[:n], false) })
			if _, err := b.forward(); err != nil {
				return err
			}
		}
		if errors.Is(readErr, io.EOF) {
			b.complete = true
			return b.end()
		}
		if readErr != nil {
			b.exchange.stop(errClientLeft)
			return errClientLeft
		}
	}
}

// end is the last callback: the trailers, or an empty chunk that ends the stream, as
// Envoy's HTTP/1 codec has it.
func (b *requestBody) end() error {
	b.exchange.filter(func(s stream) (wasmhost.Flow, error) {
		if trailers := forPlugin(nil, b.exchange.request.Trailer); len(trailers) > 0 {
			return s.RequestTrailers(trailers)
		}
		return s.RequestData(nil, true)
	})
	for {
		changed := b.exchange.worker.nextChange()
		if ended, err := b.forward(); ended || err != nil {
			return err
		}
		select {
		case <-changed: // it may have resumed the stream
		case <-b.exchange.ctx.Done():
			return errOver
		}
	}
}

// forward sends what has left the plugin, and reports whether that was the end.
func (b *requestBody) forward() (ended bool, err error) {
	var data []byte
	var trailers wasmhost.Headers
	b.exchange.tell(func(s stream) {
		data, ended = s.TakeRequestBody()
		trailers = s.RequestTrailersNow()
	})
	if ended {
		for _, pair := range trailers {
			b.trailer.Add(pair[0], pair[1])
		}
	}
	if len(data) > 0 {
		_, err = b.writer.Write(data)
	}
	return ended, err
}
