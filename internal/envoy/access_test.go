package envoy_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"endpoint-breaker/internal/envoy"
)

// Port 1 is one where nobody listens.
const nobody = "127.0.0.1:1"

func TestEachRequestIsReportedWhenItHasEnded(t *testing.T) {
	const delay = 20 * time.Millisecond
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-time.After(delay)
		w.WriteHeader(http.StatusCreated)
		_ = http.NewResponseController(w).Flush()
		<-time.After(delay)
		_, _ = io.WriteString(w, "hello")
	})
	var seen collected[envoy.Access]
	e := start(t, eds(envoy.Setup{Listener: listener(t, envoy.Route("chat", "/", models)), OnAccess: seen.add}, host))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL()+"/v1/chat?n=1", strings.NewReader("question"))
	require.NoError(t, err)
	request.Header.Set("X-Request-Id", "mine")
	request.Host = "api.example.com"
	began := time.Now()
	response, err := client(t).Do(request)
	require.NoError(t, err)
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	took := time.Since(began)
	eventually(t, func() bool { return len(seen.get()) > 0 }, "the entry")

	a := seen.get()[0]
	assert.WithinRange(t, a.Start, began.Truncate(time.Microsecond), began.Add(took))
	assert.GreaterOrEqual(t, a.Headers, delay)
	assert.GreaterOrEqual(t, a.Duration, a.Headers+delay/2)
	assert.LessOrEqual(t, a.Duration, took)
	a.Start, a.Headers, a.Duration = time.Time{}, 0, 0
	assert.Equal(t, envoy.Access{
		Method: "POST", Path: "/v1/chat?n=1", Protocol: "HTTP/1.1", Authority: "api.example.com", RequestID: "mine",
		Status: 201, Details: "via_upstream", Route: "chat", Cluster: models, Host: host, Attempts: 1,
		BytesReceived: int64(len("question")), BytesSent: int64(len("hello")),
	}, a)
}

func TestReportsTellWhatWentWrong(t *testing.T) {
	arrived := make(chan struct{}, 1)
	hanging := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/left" {
			<-time.After(5 * time.Millisecond)
			arrived <- struct{}{}
		}
		<-r.Context().Done()
	})
	limited := envoy.Route("limited", "/limited", "hanging")
	limited.GetRoute().Timeout = durationpb.New(50 * time.Millisecond)
	retried := envoy.Route("retried", "/retried", "gone")
	retried.GetRoute().RetryPolicy = &routev3.RetryPolicy{RetryOn: "connect-failure"}
	var seen collected[envoy.Access]
	e := start(t, envoy.Setup{
		Listener: listener(t, limited, retried, envoy.Route("empty", "/empty", "empty"), envoy.Route("left", "/left", "hanging")),
		Clusters: []*clusterv3.Cluster{
			envoy.StaticCluster("hanging", hanging), envoy.StaticCluster("gone", nobody), envoy.StaticCluster("empty"),
		},
		OnAccess: seen.add,
	})
	for _, c := range []struct {
		path, details, flags, host string
		status, attempts           int
	}{
		{"/limited", "response_timeout", "UT", hanging, 504, 1},
		{"/retried", "upstream_reset_before_response_started", "URX,UF", nobody, 503, 2},
		{"/empty", "no_healthy_upstream", "UH", "", 503, 1},
		{"/nowhere", "route_not_found", "NR", "", 404, 0},
		{"/left", "downstream_remote_disconnect", "DC", hanging, 0, 1},
	} {
		t.Run(c.path, func(t *testing.T) {
			before := len(seen.get())
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if c.status == 0 {
				go func() {
					<-arrived
					leave()
				}()
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL()+c.path, nil)
			require.NoError(t, err)
			response, err := client(t).Do(request)
			if c.status > 0 {
				require.NoError(t, err)
				response.Body.Close()
			}
			eventually(t, func() bool { return len(seen.get()) > before }, "the entry")
			a := seen.get()[before]
			assert.Contains(t, a.Details, c.details)
			assert.Equal(t, c.flags, a.Flags)
			assert.Equal(t, c.host, a.Host)
			assert.Equal(t, c.status, a.Status)
			assert.Equal(t, c.attempts, a.Attempts)
			assert.Positive(t, a.Duration)
			assert.Zero(t, a.Headers)
		})
	}
}

func TestNoReportIsLostOrOutOfOrderAtStop(t *testing.T) {
	var seen collected[envoy.Access]
	e := start(t, envoy.Setup{Listener: listener(t, answering(200)), OnAccess: seen.add})
	c, paths := client(t), []string{}
	for range 100 {
		paths = append(paths, "/"+strings.Repeat("x", len(paths)))
		getWith(t, c, e.URL()+paths[len(paths)-1])
	}
	require.NoError(t, e.Stop())
	var got []string
	for _, a := range seen.get() {
		got = append(got, a.Path)
	}
	assert.Equal(t, paths, got)
	assert.True(t, slices.IsSortedFunc(seen.get(), func(a, b envoy.Access) int { return a.Start.Compare(b.Start) }))
}
