package envoytest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/backend"
)

// How long an answer took is told by its first event, where it is a stream, and by what ended the
// request, where no answer came.

func TestStreams(t *testing.T) {
	t.Parallel()
	const configuration = `{"slow_threshold":"1500ms","dedup_window":"100ms","confirm_window":"30s","block_ttl":"10s","check_interval":"100ms"}`
	runNeighbours(
		t, setup{workers: 2, configuration: configuration},
		neighbour{route: "silent", test: silentStream, rule: "a stream whose headers come at once and whose first event never comes is found"},
		neighbour{route: "long", test: longStream, rule: "a stream whose first event comes in time may be as long as it likes"},
		neighbour{route: "timeout", test: countsOnce, hosts: 1, timeout: 3 * time.Second, rule: "a request that is given up on past the threshold counts once"},
	)
}

// A sends the headers of a stream and then nothing. When it is blocked none of its streams has had
// an event.
func silentStream(w *world) {
	a := w.hosts[0]
	before := w.spread(12)["A"]
	event := make(chan struct{})
	a.Serve(backend.Events(backend.Until(event)))
	for _, h := range w.hosts[1:] {
		h.Serve(backend.Events(backend.For(0)))
	}
	var streams []*http.Response
	for len(w.blocks()) == 0 {
		require.Less(w.t, len(streams), 500, "requests without a block")
		streams = append(streams, w.open())
		<-time.After(20 * time.Millisecond)
	}
	silent := a.Requests()[before:]
	close(event)

	block := w.blockOf(a)
	assert.Equal(w.t, "in_flight", block.Reason)
	assert.GreaterOrEqual(w.t, len(silent), 2, "as many as confirm a block")
	for _, r := range silent {
		assert.False(w.t, r.Ended, "a stream with its first event")
	}
	for _, s := range streams {
		assert.Equal(w.t, http.StatusOK, s.StatusCode)
		assert.Equal(w.t, "data: 1\n\ndata: 2\n\ndata: 3\n\n", read(w.t, s))
	}
}

// open makes a request and returns when the headers of its answer are here.
func (w *world) open() *http.Response {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.envoy.URL()+"/v1/chat/completions", nil)
	require.NoError(w.t, err)
	response, err := w.client.Do(request)
	require.NoError(w.t, err)
	return response
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(body)
}

// Each stream has its first event at once and its last one after more than two thresholds.
func longStream(w *world) {
	const length = 3500 * time.Millisecond
	w.spread(12)
	for _, h := range w.hosts {
		h.Serve(firstAndLast(length))
	}
	var streams errgroup.Group
	for range 24 {
		streams.Go(func() error {
			r := w.sendFor(w.t.Context(), http.MethodGet, "/v1/chat/completions", nil)
			if r.err != nil || string(r.body) != "data: first\n\ndata: last\n\n" {
				return fmt.Errorf("status %d, error %w, body %q", r.status, r.err, r.body)
			}
			return nil
		})
	}
	require.NoError(w.t, streams.Wait())

	for _, a := range w.finished(12 + 24)[12:] {
		assert.Greater(w.t, a.Duration, length)
	}
	assert.Empty(w.t, w.metrics(), "no sample of any kind")
	assert.Empty(w.t, w.blocks())
}

// firstAndLast is a stream of two events.
func firstAndLast(between time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: first\n\n")
		if http.NewResponseController(w).Flush() != nil || backend.For(between)(r.Context()) != nil {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "data: last\n\n")
	})
}

// The one host hangs. Envoy answers 504 for it at the route's timeout, when the sample has long
// been taken.
func countsOnce(w *world) {
	w.hosts[0].Serve(backend.Hang())
	r := w.send(http.MethodGet, "/v1/models", nil)
	require.NoError(w.t, r.err)
	assert.Equal(w.t, http.StatusGatewayTimeout, r.status)
	assert.Equal(w.t, "response_timeout", w.finished(1)[0].Details)
	assert.Equal(w.t, map[string]float64{"samples": 1}, w.metrics())
}

func TestWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	// Nobody looks at requests in flight: the end of each says what it was.
	const configuration = `{"slow_threshold":"2s","dedup_window":"0s","confirm_count":20,"confirm_window":"1m","count_timeouts":false,"check_interval":"0s"}`
	runNeighbours(
		t, setup{workers: 2, configuration: configuration},
		neighbour{route: "timeout", test: timeoutCounts, hosts: 1, timeout: 3 * time.Second, rule: "a timeout past the threshold is a sample"},
		neighbour{route: "early", test: earlyTimeout, hosts: 1, timeout: 100 * time.Millisecond, rule: "a timeout before the threshold is none"},
		neighbour{route: "client", test: leavingClients, hosts: 1, rule: "a client that leaves before the threshold is no sample, and one that leaves after it is"},
	)
}

func timeoutCounts(w *world) {
	w.hosts[0].Serve(backend.Hang())
	assert.Equal(w.t, http.StatusGatewayTimeout, w.send(http.MethodGet, "/v1/models", nil).status)
	assert.Equal(w.t, "response_timeout", w.finished(1)[0].Details)
	assert.Equal(w.t, map[string]float64{"samples": 1}, w.metrics())
}

func earlyTimeout(w *world) {
	w.hosts[0].Serve(backend.Hang())
	for range 20 {
		assert.Equal(w.t, http.StatusGatewayTimeout, w.send(http.MethodGet, "/v1/models", nil).status)
	}
	for _, a := range w.finished(20) {
		assert.Equal(w.t, "response_timeout", a.Details)
	}
	assert.Empty(w.t, w.metrics())
}

// Twenty clients leave as soon as the host has their requests, and one stays for longer than the
// threshold.
func leavingClients(w *world) {
	host := w.hosts[0]
	host.Serve(backend.Hang())
	for i := range 20 {
		w.leave(func() { w.eventually("the request", func() bool { return host.Count() > i }) })
	}
	w.eventually("the ends of all requests", func() bool { return len(ended(host)) == 20 })
	assert.Len(w.t, w.finished(20), 20)
	assert.Empty(w.t, w.metrics())

	w.leave(func() { <-time.After(2500 * time.Millisecond) })
	assert.Equal(w.t, "downstream_remote_disconnect", w.finished(21)[20].Details)
	w.eventually("the sample", func() bool { return w.metric("samples") > 0 })
	assert.Equal(w.t, map[string]float64{"samples": 1}, w.metrics())
}

// leave sends a request and takes the client away after a while.
func (w *world) leave(after func()) {
	w.t.Helper()
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	var sending errgroup.Group
	sending.Go(func() error { return w.sendFor(ctx, http.MethodGet, "/v1/models", nil).err })
	after()
	leave()
	require.ErrorIs(w.t, sending.Wait(), context.Canceled)
}
