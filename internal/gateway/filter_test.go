package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = w.Write(body)
}

func stopHeaders(*fakeStream, bool) wasmhost.Flow { return wasmhost.FlowStopped }

func TestAStoppedRequestWithoutABodyHangsUntilTheClientLeaves(t *testing.T) {
	stopped, stop := once()
	host := newBackend(t, sayName("a"))
	b := newBench(t, []string{host}, pluginIs(fakePlugin{requestHeaders: func(_ *fakeStream, endStream bool) wasmhost.Flow {
		assert.True(t, endStream)
		stop()
		return wasmhost.FlowStopped
	}}))
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-stopped
		leave()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL(), nil)
	require.NoError(t, err)
	response, err := b.client.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	entry := b.log.next(t)
	assert.Equal(t, detailsClientLeft, entry.Details)
	assert.Empty(t, entry.Host)
	assert.Zero(t, b.Hosts()[0].Placed())
}

func TestAStoppedRequestWithABodyGoesOnWithIt(t *testing.T) {
	host := newBackend(t, echo)
	b := newBench(t, []string{host}, pluginIs(fakePlugin{requestHeaders: stopHeaders}))
	_, answer := b.do(t, http.MethodPost, "hello")
	assert.Equal(t, "hello", answer)
}

func TestABodyThatThePluginHoldsArrivesWhole(t *testing.T) {
	host := newBackend(t, echo)
	untilTheEnd := func(endStream bool) wasmhost.Flow {
		if endStream {
			return wasmhost.FlowContinue
		}
		return wasmhost.FlowStopped
	}
	b := newBench(t, []string{host}, pluginIs(fakePlugin{
		requestHeaders: stopHeaders,
		requestData:    func(_ *fakeStream, _ []byte, end bool) wasmhost.Flow { return untilTheEnd(end) },
		responseHeaders: func(*fakeStream) wasmhost.Flow {
			return wasmhost.FlowStopped
		},
		responseData: func(_ *fakeStream, _ []byte, end bool) wasmhost.Flow { return untilTheEnd(end) },
	}))
	body := strings.Repeat("0123456789", 20_000)
	_, answer := b.do(t, http.MethodPost, body)
	assert.Equal(t, body, answer)
}

func TestATickCanResumeWhatWasStopped(t *testing.T) {
	host := newBackend(t, echo)
	b := newBench(t, []string{host},
		func(v *fakeVM) {
			v.period = time.Millisecond
			v.onTick = func() error {
				for _, s := range v.streams {
					s.request.resume()
					s.response.resume()
				}
				return nil
			}
		},
		pluginIs(fakePlugin{
			requestHeaders:  stopHeaders,
			requestData:     func(*fakeStream, []byte, bool) wasmhost.Flow { return wasmhost.FlowStopped },
			responseHeaders: func(*fakeStream) wasmhost.Flow { return wasmhost.FlowStopped },
			responseData:    func(*fakeStream, []byte, bool) wasmhost.Flow { return wasmhost.FlowStopped },
		}))
	_, answer := b.do(t, http.MethodPost, "hello")
	assert.Equal(t, "hello", answer)
	response, _ := b.do(t, http.MethodGet, "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

func TestABodyEndsWithAnEmptyChunk(t *testing.T) {
	var ends, bytes int
	count := func(_ *fakeStream, chunk []byte, end bool) wasmhost.Flow {
		if end {
			assert.Empty(t, chunk)
			ends++
		}
		bytes += len(chunk)
		return wasmhost.FlowContinue
	}
	host := newBackend(t, echo)
	b := newBench(t, []string{host}, pluginIs(fakePlugin{requestData: count, responseData: count}))
	b.do(t, http.MethodPost, "hello")
	b.log.next(t)
	assert.Equal(t, 2, ends)
	assert.Equal(t, 10, bytes)
}

func TestThePluginsOwnAnswerReplacesTheUpstreams(t *testing.T) {
	reply := func(s *fakeStream) wasmhost.Flow { return s.replies(http.StatusTeapot, "no") }
	for name, plugin := range map[string]fakePlugin{
		"at the request headers": {requestHeaders: func(s *fakeStream, _ bool) wasmhost.Flow { return reply(s) }},
		"at the request body": {
			requestHeaders: stopHeaders,
			requestData:    func(s *fakeStream, _ []byte, _ bool) wasmhost.Flow { return reply(s) },
		},
		"at the response headers": {responseHeaders: reply},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, []string{newBackend(t, sayName("a"))}, pluginIs(plugin))
			response, answer := b.do(t, http.MethodPost, "hello")
			assert.Equal(t, http.StatusTeapot, response.StatusCode)
			assert.Equal(t, "no", answer)
			assert.Equal(t, "fake", b.log.next(t).Details)
		})
	}
}

func TestThePluginSeesPseudoHeadersAndLowerCaseNames(t *testing.T) {
	var request, response wasmhost.Headers
	b := newBench(t, []string{newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Model", "m")
	})}, pluginIs(fakePlugin{
		requestHeaders:  func(s *fakeStream, _ bool) wasmhost.Flow { request = s.request.headers; return wasmhost.FlowContinue },
		responseHeaders: func(s *fakeStream) wasmhost.Flow { response = s.response.headers; return wasmhost.FlowContinue },
	}))
	b.do(t, http.MethodPost, "hello")
	b.log.next(t)
	assert.Equal(t, wasmhost.Headers{
		{":authority", strings.TrimPrefix(b.URL(), "http://")},
		{":path", "/v1/x?y=1"},
		{":method", "POST"},
		{":scheme", "http"},
		{"content-length", "5"},
		{"user-agent", "Go-http-client/1.1"},
		{"x-forwarded-proto", "http"},
	}, without(request, "x-request-id"))
	assert.NotEmpty(t, valueOf(request, "x-request-id"))
	assert.Equal(t, [2]string{":status", "200"}, response[0])
	assert.Equal(t, "m", valueOf(response, "x-model"))
}

func without(headers wasmhost.Headers, name string) (kept wasmhost.Headers) {
	for _, pair := range headers {
		if pair[0] != name {
			kept = append(kept, pair)
		}
	}
	return kept
}

func TestChangedHeadersReachTheOtherSide(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String()+" "+r.Header.Get("X-New"))
	})
	b := newBench(t, []string{backend}, pluginIs(fakePlugin{
		requestHeaders: func(s *fakeStream, _ bool) wasmhost.Flow {
			s.request.headers = append(without(s.request.headers, ":path"), [2]string{":path", "/other"}, [2]string{"x-new", "1"})
			return wasmhost.FlowContinue
		},
		responseHeaders: func(s *fakeStream) wasmhost.Flow {
			s.response.headers = append(without(s.response.headers, ":status"), [2]string{":status", "201"}, [2]string{"x-late", "2"})
			return wasmhost.FlowContinue
		},
	}))
	response, answer := b.do(t, http.MethodGet, "")
	assert.Equal(t, http.StatusCreated, response.StatusCode)
	assert.Equal(t, "2", response.Header.Get("X-Late"))
	assert.Equal(t, "GET /other 1", answer)
}

func TestHopByHopHeadersStayOnTheirHop(t *testing.T) {
	backend := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Te", "X-Hop", "Upgrade", "Keep-Alive"} {
			assert.Empty(t, r.Header.Get(name), name)
		}
		assert.Equal(t, "1", r.Header.Get("X-End-To-End"))
		w.Header().Set("Keep-Alive", "timeout=1")
	})
	b := newBench(t, []string{backend})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL(), nil)
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Connection": "x-hop, keep-alive", "X-Hop": "1", "Te": "trailers", "Upgrade": "h2c",
		"Keep-Alive": "1", "X-End-To-End": "1",
	} {
		request.Header.Set(name, value)
	}
	response, err := b.client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Empty(t, response.Header.Get("Keep-Alive"))
}
