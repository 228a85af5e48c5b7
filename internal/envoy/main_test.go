package envoy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/plugintest"
)

// parentOf makes of this program a parent of the Envoy with that path.
const parentOf = "PARENT_OF_ENVOY"

func TestMain(m *testing.M) {
	if binary := os.Getenv(parentOf); binary != "" {
		beParent(binary)
	}
	goleak.VerifyTestMain(m)
}

// within is for what must come some time.
const within = 30 * time.Second

func eventually(t *testing.T, met func() bool, what string) {
	t.Helper()
	require.Eventually(t, met, within, 10*time.Millisecond, what)
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// answering returns a route that Envoy answers itself.
func answering(status uint32) *routev3.Route {
	return &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: status}},
	}
}

func listener(t *testing.T, routes ...*routev3.Route) *listenerv3.Listener {
	t.Helper()
	l, err := envoy.NewListener(envoy.Routes(envoy.AnyHost(routes...)))
	require.NoError(t, err)
	return l
}

func start(t *testing.T, s envoy.Setup) *envoy.Envoy {
	t.Helper()
	s.Binary = plugintest.EnvoyBinary(t)
	e, err := envoy.Start(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Stop()) })
	return e
}

// client returns one that keeps its connections until the test ends.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: within}
}

// get returns the status and the body of an answer over a connection of its own.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	c := client(t)
	defer c.CloseIdleConnections()
	return getWith(t, c, url)
}

func getWith(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	response, err := c.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// collected keeps what comes from another goroutine.
type collected[T any] struct {
	mu  sync.Mutex
	all []T
}

func (c *collected[T]) add(one T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

func (c *collected[T]) get() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]T(nil), c.all...)
}

// beParent starts an Envoy, tells its process id and waits to be killed.
func beParent(binary string) {
	l, err := envoy.NewListener(envoy.Routes(envoy.AnyHost(answering(http.StatusNoContent))))
	if err == nil {
		var e *envoy.Envoy
		if e, err = envoy.Start(context.Background(), envoy.Setup{Binary: binary, Listener: l}); err == nil {
			fmt.Println(e.PID())
			select {}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startError returns why an Envoy does not start.
func startError(t *testing.T, s envoy.Setup) error {
	t.Helper()
	s.Binary = plugintest.EnvoyBinary(t)
	e, err := envoy.Start(t.Context(), s)
	if err == nil {
		require.NoError(t, e.Stop())
	}
	return err
}
