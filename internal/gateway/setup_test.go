package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a gateway with fake workers, and a client.
type bench struct {
	*Gateway
	log    *accessLog
	client *http.Client
}

type setting func(*fakeVM)

func pluginIs(p fakePlugin) setting { return func(v *fakeVM) { v.plugin = p } }

// newBench starts a gateway with two workers over the given backends.
func newBench(t *testing.T, hosts []string, settings ...setting) *bench {
	t.Helper()
	log := newAccessLog()
	newVM := func() *fakeVM {
		v := &fakeVM{t: t}
		for _, set := range settings {
			set(v)
		}
		return v
	}
	g, err := start(t.Context(), Options{
		Clock: &steppingClock{}, RouteName: "chat", Cluster: "outbound|443||llm.dns",
		Hosts: hosts, OnAccess: log.add,
	}, newVM(), []vm{newVM(), newVM()})
	require.NoError(t, err)
	b := &bench{Gateway: g, log: log, client: newClient(t)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
		defer cancel()
		_ = g.Close(ctx) // some tests leave requests hanging, or have closed it
	})
	return b
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newBackend serves the handler and returns its address.
func newBackend(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

func sayName(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }
}

func (b *bench) do(t *testing.T, method, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, b.URL()+"/v1/x?y=1", strings.NewReader(body))
	require.NoError(t, err)
	response, err := b.client.Do(request)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response, string(answer)
}

// await waits for something that must come; the limit is for a broken gateway only.
func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal(what + " did not come")
	}
}
