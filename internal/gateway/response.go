package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"endpoint-breaker/internal/wasmhost"
)

// respond takes a response through the plugin to the client, chunk by chunk.
func (x *exchange) respond(response *http.Response) bool {
	ended := response.ContentLength == 0 || response.Body == http.NoBody
	x.filter(func(s stream) (wasmhost.Flow, error) { return s.ResponseHeaders(responseHeaders(response), ended) })
	x.forward()
	buffer := make([]byte, chunkSize)
	for !ended {
		n, readErr := response.Body.Read(buffer)
		if x.ctx.Err() != nil {
			return x.interrupted()
		}
		if n > 0 {
			x.filter(func(s stream) (wasmhost.Flow, error) { return s.ResponseData(buffer[:n], false) })
			x.forward()
		}
		ended = errors.Is(readErr, io.EOF)
		if readErr != nil && !ended {
			x.details(detailsResetAfter, flagUpstreamReset)
			return false
		}
		if ended {
			x.endResponse(response.Trailer)
		}
	}
	return x.forwardRest() || x.interrupted()
}

// endResponse is the last callback: the trailers, or an empty chunk that ends the
// stream, as Envoy's HTTP/1 codec has it.
func (x *exchange) endResponse(trailer http.Header) {
	x.filter(func(s stream) (wasmhost.Flow, error) {
		if trailers := forPlugin(nil, trailer); len(trailers) > 0 {
			return s.ResponseTrailers(trailers)
		}
		return s.ResponseData(nil, true)
	})
}

// forwardRest waits until the plugin has let the end of the response go.
func (x *exchange) forwardRest() bool {
	for x.ctx.Err() == nil {
		changed := x.worker.nextChange()
		if x.forward() {
			return x.ctx.Err() == nil
		}
		select {
		case <-changed: // it may have resumed the stream
		case <-x.ctx.Done():
		}
	}
	return false
}

// forward sends what has left the plugin, and reports whether that was the end. A
// client that does not take it stops the exchange.
func (x *exchange) forward() (ended bool) {
	var released bool
	var data []byte
	var headers, trailers wasmhost.Headers
	x.tell(func(s stream) {
		released = s.ResponseReleased() && s.LocalReply() == nil
		if !released {
			return
		}
		headers, trailers = s.ResponseHeadersNow(), s.ResponseTrailersNow()
		data, ended = s.TakeResponseBody()
	})
	if !released {
		return false
	}
	if !x.answered {
		x.writeHeaders(headers)
	}
	x.send(data)
	if ended {
		for _, pair := range trailers {
			x.writer.Header().Add(http.TrailerPrefix+http.CanonicalHeaderKey(pair[0]), pair[1])
		}
	}
	return ended
}

func (x *exchange) writeHeaders(headers wasmhost.Headers) {
	x.answered = true
	pseudo, header := fromPlugin(headers)
	for name, values := range header {
		x.writer.Header()[name] = values
	}
	if header.Get("Content-Type") == "" {
		x.writer.Header()["Content-Type"] = nil // net/http must not guess one
	}
	status, err := strconv.Atoi(pseudo[":status"])
	if err != nil || status < 200 || status > 999 {
		status = http.StatusInternalServerError // the plugin left one that is none
	}
	x.access.Status = status
	x.writer.WriteHeader(status)
	x.flush(nil)
}

func (x *exchange) send(body []byte) {
	if len(body) == 0 {
		return
	}
	_, err := x.writer.Write(body)
	x.flush(err)
}

func (x *exchange) flush(err error) {
	if err == nil {
		err = x.client.Flush()
	}
	if err != nil {
		x.stop(errClientLeft)
	}
}

// noResponse is a request that got no response headers: a 503 of the router's own,
// which the plugin sees like any response.
func (x *exchange) noResponse(err error) bool {
	if x.ctx.Err() != nil {
		return x.interrupted()
	}
	details, flags := failure(err)
	x.details(details, flags)
	body := details + "\n"
	return x.respond(&http.Response{
		StatusCode: http.StatusServiceUnavailable,
		Header: http.Header{
			"Content-Length": {strconv.Itoa(len(body))},
			"Content-Type":   {"text/plain"},
		},
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(strings.NewReader(body)),
	})
}

// localReply sends what the plugin answers by itself.
func (x *exchange) localReply() bool {
	if x.answered {
		return false
	}
	var reply *wasmhost.LocalReply
	x.tell(func(s stream) { reply = s.LocalReply() })
	x.access.Details, x.access.Flags = reply.Details, 0
	x.writeHeaders(reply.Headers)
	x.send(reply.Body)
	return true
}
