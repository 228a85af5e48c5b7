package gateway

import (
	"crypto/rand"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"endpoint-breaker/internal/wasmhost"
)

// isHopByHop tells the headers that belong to one connection only (RFC 9110, 7.6.1).
// Expect is among them because the gateway answers it, as Envoy does by default.
func isHopByHop(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "expect":
		return true
	}
	return false
}

// forPlugin turns a header map into what the plugin sees: lower-case names in
// alphabetical order (net/http has lost the original one), no hop-by-hop headers.
func forPlugin(pseudo wasmhost.Headers, h http.Header) wasmhost.Headers {
	named := map[string]bool{} // by the Connection header
	for _, value := range h.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			named[strings.ToLower(textproto.TrimString(name))] = true
		}
	}
	headers := pseudo
	for _, key := range slices.Sorted(maps.Keys(h)) {
		name := strings.ToLower(key)
		if isHopByHop(name) || named[name] {
			continue
		}
		for _, value := range h[key] {
			headers = append(headers, [2]string{name, value})
		}
	}
	return headers
}

func requestHeaders(r *http.Request) wasmhost.Headers {
	h := r.Header.Clone()
	if r.ContentLength > 0 {
		h.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	}
	if h.Get("X-Request-Id") == "" {
		h.Set("X-Request-Id", rand.Text())
	}
	h.Set("X-Forwarded-Proto", "http")
	return forPlugin(wasmhost.Headers{
		{":authority", r.Host},
		{":path", r.URL.RequestURI()},
		{":method", r.Method},
		{":scheme", "http"},
	}, h)
}

func responseHeaders(r *http.Response) wasmhost.Headers {
	return forPlugin(wasmhost.Headers{{":status", strconv.Itoa(r.StatusCode)}}, r.Header)
}

// fromPlugin separates what the plugin left into pseudo headers and an http.Header.
func fromPlugin(headers wasmhost.Headers) (pseudo map[string]string, h http.Header) {
	pseudo, h = map[string]string{}, http.Header{}
	for _, pair := range headers {
		name, value := pair[0], pair[1]
		if strings.HasPrefix(name, ":") {
			pseudo[name] = value
			continue
		}
		h.Add(name, value)
	}
	return pseudo, h
}
