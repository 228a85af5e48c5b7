package wasmhost

import (
	"strconv"
	"time"
)

func httpFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_http_call", []kind{text, text, text, text, number, out}, httpCall},
	}
}

// httpCall wants a cluster that is known, and the headers that every request
// has; a body brings its content-length (Context::httpCall in Envoy's
// context.cc).
func httpCall(c *call) Status {
	cluster, known := c.worker.plugin.options.Clusters[c.text(0)]
	if timeout := int32(c.number(4)); !known || timeout < 0 {
		return StatusBadArgument
	}
	request := HTTPCall{
		Headers:  Headers(decodePairs(c.bytes(1))).clone(),
		Body:     c.bytes(2),
		Trailers: Headers(decodePairs(c.bytes(3))).clone(),
		Timeout:  time.Duration(c.number(4)) * time.Millisecond,
	}
	for _, name := range []string{":method", ":path", ":authority"} {
		if _, found := request.Headers.Get(name); !found {
			return StatusBadArgument
		}
	}
	if len(request.Body) > 0 {
		request.Headers.replace("content-length", strconv.Itoa(len(request.Body)))
	}
	got, err := cluster.answerHTTP(request)
	if err != nil {
		token := c.worker.expect(answer{callback: onHTTPCallResponse, code: brokenConnection, message: "reset"}, 0, 0, 0)
		return c.put(5, token)
	}
	token := c.worker.expect(answer{
		callback: onHTTPCallResponse, isHTTP: true,
		headers: got.Headers.clone(), trailers: got.Trailers.clone(), body: got.Body,
	}, uint64(len(got.Headers)), uint64(len(got.Body)), uint64(len(got.Trailers)))
	return c.put(5, token)
}
