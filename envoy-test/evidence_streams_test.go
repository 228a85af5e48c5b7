package envoytest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	gzipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/gzip/compressor/v3"
	compressorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/compressor/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
)

// What counts of an answer: its headers, or the first chunk of what is meant to come in chunks.
func streamSituations() []neighbour {
	var neighbours []neighbour
	for i, contentType := range []string{
		"text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream ;charset=UTF-8",
		"application/x-ndjson", "application/x-ndjson; charset=utf-8",
	} {
		neighbours = append(neighbours, neighbour{
			route: fmt.Sprintf("type-%d", i), test: firstChunkIsLate(contentType),
			rule: "the first chunk of " + contentType + " is late: the host",
		})
	}
	return append(neighbours,
		neighbour{
			route: "text", test: othersMayBeSlow,
			rule: "the first chunk of what is no stream is late: nobody",
		},
		neighbour{
			route: "http2", adaptCluster: speaksHTTP2, test: overHTTP2(firstChunkIsLate("text/event-stream; charset=utf-8")),
			rule: "the first event is late, over HTTP/2 on both sides: the host",
		},
		neighbour{
			route: "http2-long", adaptCluster: speaksHTTP2, test: overHTTP2(lastsLong("text/event-stream")),
			rule: "the first event comes in time, the last does not, over HTTP/2 on both sides: nobody",
		},
		neighbour{
			route: "gzip", test: gzippedByTheHost,
			rule: "the first event is late, and the host compresses: the host",
		},
		neighbour{
			route: "gzip-header", test: gzipHeaderFirst,
			rule: "limit: the first event is late, and the host sends the compression's header before: nobody",
		},
		neighbour{
			route: "gzip-envoy", test: compressed(firstChunkIsLate("text/event-stream")),
			rule: "the first event is late, and Envoy compresses: the host",
		},
		neighbour{
			route: "gzip-envoy-long", test: compressed(lastsLong("text/event-stream")),
			rule: "the first event comes in time, the last does not, and Envoy compresses: nobody",
		},
		neighbour{
			route: "grpc", adaptCluster: speaksHTTP2, test: overHTTP2(firstChunkIsLate("application/grpc")),
			rule: "the first message of a gRPC stream is late: the host",
		},
		neighbour{
			route: "grpc-long", adaptCluster: speaksHTTP2, test: overHTTP2(lastsLong("application/grpc+proto")),
			rule: "a gRPC stream begins in time, and is long: nobody",
		},
		neighbour{
			route: "trailers", adaptCluster: speaksHTTP2, test: overHTTP2(onlyTrailersLate(0)),
			rule: "a gRPC stream without a message ends late: the host",
		},
		neighbour{
			route: "trailers-only", adaptCluster: speaksHTTP2, test: overHTTP2(onlyTrailersLate(tooLate)),
			rule: "a gRPC answer of trailers alone is late: the host",
		},
		neighbour{
			route: "trailers-in-time", adaptCluster: speaksHTTP2, test: overHTTP2(onlyTrailersInTime),
			rule: "a gRPC answer of trailers alone comes in time: nobody",
		},
		neighbour{
			route: "silent-timeout", timeout: soon, test: silenceTimesOut("response_timeout"),
			rule: "a stream is silent until the route's timeout: the host",
		},
		neighbour{
			route: "silent-idle", adaptDomain: idleFor(soon), test: silenceTimesOut("upstream_per_try_idle_timeout"),
			rule: "a stream is silent until the attempt's timeout for silence: the host",
		},
		neighbour{
			route: "hints", test: hintsComeFirst,
			rule: "103 comes at once, the answer does not: the host",
		},
		neighbour{
			route: "continue", test: toldToContinue,
			rule: "100 comes at once, the answer does not: the host",
		},
		neighbour{
			route: "head", test: lateWithout(http.MethodHead, http.StatusOK),
			rule: "an answer to HEAD is late: the host",
		},
		neighbour{
			route: "204", test: lateWithout(http.MethodGet, http.StatusNoContent),
			rule: "a 204 is late: the host",
		},
		neighbour{
			route: "304", test: lateWithout(http.MethodGet, http.StatusNotModified),
			rule: "a 304 is late: the host",
		},
		neighbour{
			route: "stall", test: stalls(true),
			rule: "a stream stalls, with a stall_threshold: the host",
		},
		neighbour{
			route: "stall-gzip", test: compressed(stalls(true)),
			rule: "a stream stalls, with a stall_threshold, and Envoy compresses: the host",
		},
		neighbour{
			route: "stall-none", test: goesOn,
			rule: "a stream goes on in time each time, with a stall_threshold: nobody",
		},
		neighbour{
			route: "stall-off", test: stalls(false),
			rule: "a stream stalls, without one: nobody",
		},
	)
}

// withCompressor lets Envoy compress for clients that accept it, before the plugin sees the answer.
func withCompressor(t *testing.T) func([]*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
	t.Helper()
	compressor := httpFilter(t, "compressor", &compressorv3.Compressor{
		CompressorLibrary: &corev3.TypedExtensionConfig{Name: "gzip", TypedConfig: packed(t, &gzipv3.Gzip{})},
		ResponseDirectionConfig: &compressorv3.Compressor_ResponseDirectionConfig{
			CommonConfig: &compressorv3.Compressor_CommonDirectionConfig{
				ContentTypeMatcher: []*matcherv3.StringMatcher{{
					MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "text/event-stream"},
				}},
			},
		},
	})
	return func(breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter {
		return append(slices.Clone(breaker), compressor)
	}
}

// overHTTP2 makes the client speak it.
func overHTTP2(test func(*world)) func(*world) {
	return func(w *world) {
		w.client.Transport = toDomain{w.domainName(), clientOfHTTP2(w.t).Transport}
		test(w)
		for _, a := range w.finished(1) {
			assert.Equal(w.t, "HTTP/2", a.Protocol)
		}
		for _, h := range w.hosts {
			for _, r := range h.Requests() {
				assert.Equal(w.t, "HTTP/2.0", r.Proto)
			}
		}
	}
}

// compressed makes the client accept what Envoy compresses.
func compressed(test func(*world)) func(*world) {
	return func(w *world) {
		accepts := withHeaders{RoundTripper: w.client.Transport, headers: map[string]string{"Accept-Encoding": "gzip"}}
		w.client.Transport = onlyCompressed{accepts, w.t}
		test(w)
	}
}

// onlyCompressed requires answers that are.
type onlyCompressed struct {
	http.RoundTripper
	t *testing.T
}

func (o onlyCompressed) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(r)
	if err == nil {
		assert.Equal(o.t, "gzip", response.Header.Get("Content-Encoding"))
	}
	return response, err
}

func firstChunkIsLate(contentType string) func(*world) {
	return func(w *world) {
		w.serveAll(streaming(contentType, part{after: tooLate, text: "data: 1\n\n"}))
		r := w.request(http.StatusOK)
		assert.NotEmpty(w.t, r.body)
		w.against(w.lastAsked(), "in_flight")
	}
}

// lastAsked is the host that Envoy's last request to finish went to.
func (w *world) lastAsked() *backend.Server {
	w.t.Helper()
	all := w.finished(1)
	return w.hostAt(all[len(all)-1].Host)
}

func lastsLong(contentType string) func(*world) {
	return func(w *world) {
		w.serveAll(streaming(contentType, part{text: "data: 1\n\n"}, part{after: tooLate, text: "data: 2\n\n"}))
		r := w.request(http.StatusOK)
		assert.NotEmpty(w.t, r.body)
		w.againstNobody(1)
	}
}

func othersMayBeSlow(w *world) {
	w.serveAll(streaming("text/event-streams", part{after: tooLate, text: "data: 1\n\n"}))
	w.request(http.StatusOK)
	w.againstNobody(1)
}

func gzippedByTheHost(w *world) {
	body := gzipped(w.t, "data: 1\n\n")
	w.serveAll(backend.WithHeader("Content-Encoding", "gzip", streaming("text/event-stream", part{after: tooLate, text: body})))
	assert.Equal(w.t, body, string(w.request(http.StatusOK).body))
	w.against(w.lastAsked(), "in_flight")
}

// gzipHeaderFirst is a first chunk in time that says nothing. The plugin does not read bodies.
func gzipHeaderFirst(w *world) {
	body := gzipped(w.t, "data: 1\n\n")
	w.serveAll(backend.WithHeader("Content-Encoding", "gzip",
		streaming("text/event-stream", part{text: body[:10]}, part{after: tooLate, text: body[10:]})))
	assert.Equal(w.t, body, string(w.request(http.StatusOK).body))
	w.againstNobody(1)
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var body bytes.Buffer
	writer := gzip.NewWriter(&body)
	_, err := writer.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return body.String()
}

// failsByTrailers answers a gRPC call with an error and no message: headers at once or, if
// together, as one with the trailers.
func failsByTrailers(wait time.Duration, together bool) http.Handler {
	return backend.After(backend.For(0), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if !together {
			w.Header().Set("Trailer", "Grpc-Status")
			_ = http.NewResponseController(w).Flush()
		}
		if backend.For(wait)(r.Context()) != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Grpc-Status", "14")
	}))
}

func onlyTrailersLate(together time.Duration) func(*world) {
	return func(w *world) {
		w.serveAll(failsByTrailers(tooLate, together > 0))
		w.request(http.StatusOK)
		w.against(w.lastAsked(), "in_flight")
	}
}

func onlyTrailersInTime(w *world) {
	w.serveAll(failsByTrailers(soon, false))
	w.request(http.StatusOK)
	w.serveAll(failsByTrailers(soon, true))
	w.request(http.StatusOK)
	w.againstNobody(2)
}

// silenceTimesOut is a stream that has begun with its headers, and has no end.
func silenceTimesOut(details string) func(*world) {
	return func(w *world) {
		w.serveAll(backend.Events(backend.Until(nil)))
		r := w.send(http.MethodGet, "/v1/models", nil)
		assert.Equal(w.t, http.StatusOK, r.status)
		require.Error(w.t, r.err)
		w.against(w.lastAsked(), "timeout")
		assert.Equal(w.t, details, w.finished(1)[0].Details)
	}
}

func hintsComeFirst(w *world) {
	w.serveAll(backend.After(backend.For(0), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		afterDelay(tooLate).ServeHTTP(w, r)
	})))
	w.request(http.StatusOK)
	w.against(w.lastAsked(), "in_flight")
}

func toldToContinue(w *world) {
	var asked atomic.Bool
	ctx := httptrace.WithClientTrace(w.t.Context(), &httptrace.ClientTrace{Got100Continue: func() { asked.Store(true) }})
	w.client.Transport = toDomain{w.domainName(), patientClient(w.t).Transport}
	w.serveAll(afterDelay(tooLate))
	r := w.sendFor(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader([]byte("{}")), "Expect", "100-continue")
	require.NoError(w.t, r.err)
	assert.True(w.t, asked.Load())
	w.against(w.lastAsked(), "in_flight")
}

func lateWithout(method string, status int) func(*world) {
	return func(w *world) {
		w.serveAll(backend.After(backend.For(tooLate), backend.Status(status)))
		r := w.send(method, "/v1/models", nil)
		require.NoError(w.t, r.err)
		assert.Equal(w.t, status, r.status)
		w.against(w.lastAsked(), "in_flight")
	}
}

// stalls is a stream that goes on late. What comes in time before does not count.
func stalls(counts bool) func(*world) {
	return func(w *world) {
		w.serveAll(streaming("text/event-stream", part{text: "data: 1\n\n"}, part{after: soon / 2, text: "data: 2\n\n"}, part{after: tooLate, text: "data: 3\n\n"}))
		w.request(http.StatusOK)
		if counts {
			w.against(w.lastAsked(), "stalled")
		} else {
			w.againstNobody(1)
		}
	}
}

// goesOn is a stream that never pauses for as long as the stall_threshold.
func goesOn(w *world) {
	event := part{after: soon / 2, text: "data: 1\n\n"}
	w.serveAll(streaming("text/event-stream", event, event, event, event, event))
	w.request(http.StatusOK)
	w.againstNobody(1)
	assert.Greater(w.t, w.finished(1)[0].Duration, threshold)
}
