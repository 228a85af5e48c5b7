package envoy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/envoy"
)

// models is a cluster as Istio names it. Envoy replaces the colon in statistics.
const models = "outbound|8000|v1:a|models.dns"

// eds adds an EDS cluster with some endpoints.
func eds(s envoy.Setup, addresses ...string) envoy.Setup {
	s.Clusters = []*clusterv3.Cluster{envoy.EDSCluster(models)}
	s.Endpoints = map[string][]string{models: addresses}
	return s
}

// server answers with its name, and returns its address.
func server(t *testing.T, name string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestEndpointsComeAndGo(t *testing.T) {
	a, b := server(t, "a"), server(t, "b")
	e := start(t, eds(envoy.Setup{Workers: 2, Listener: listener(t, envoy.Route("all", "/", models))}, a))
	seen := func() map[string]int {
		bodies := map[string]int{}
		for range 12 {
			status, body := get(t, e.URL())
			if status == http.StatusOK {
				bodies[body]++
			} else {
				bodies[http.StatusText(status)]++
			}
		}
		return bodies
	}
	assert.Equal(t, map[string]int{"a": 12}, seen())

	require.NoError(t, e.SetEndpoints(soon(t), models, a, b))
	both := seen()
	assert.Len(t, both, 2)
	assert.Equal(t, 12, both["a"]+both["b"])

	require.NoError(t, e.SetEndpoints(soon(t), models, b))
	assert.Equal(t, map[string]int{"b": 12}, seen())

	require.NoError(t, e.SetEndpoints(soon(t), models, b), "once more the same")
	require.NoError(t, e.SetEndpoints(soon(t), models))
	assert.Equal(t, map[string]int{"Service Unavailable": 12}, seen())

	require.ErrorContains(t, e.SetEndpoints(soon(t), models, "nowhere"), `got "nowhere", want ip:port`)
	require.ErrorContains(t, e.SetEndpoints(soon(t), "other", a), `"other" is no EDS cluster`)
}

func TestACallerKeepsItsClusterAsItIs(t *testing.T) {
	s := eds(envoy.Setup{Listener: listener(t, envoy.Route("all", "/", models))}, server(t, "a"))
	start(t, s)
	assert.Nil(t, s.Clusters[0].GetEdsClusterConfig())
}

// What Envoy can change in place is another case for it than what it must build anew.
func listenerChanges() map[string]func(*listenerv3.Listener) {
	return map[string]func(*listenerv3.Listener){
		"in place": func(*listenerv3.Listener) {},
		"as a whole": func(l *listenerv3.Listener) {
			l.PerConnectionBufferLimitBytes = wrapperspb.UInt32(1 << 16)
		},
	}
}

func TestAListenerIsReplacedOnEveryWorkerAndKeepsItsAddress(t *testing.T) {
	for name, change := range listenerChanges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, envoy.Setup{Workers: 4, Listener: listener(t, answering(200))})
			kept, address := client(t), e.URL()
			for status := 201; status <= 204; status++ {
				next := listener(t, answering(uint32(status)))
				change(next)
				getWith(t, kept, e.URL())
				require.NoError(t, e.SetListener(soon(t), next))
				assert.Equal(t, address, e.URL())
				for range 20 {
					got, _ := get(t, e.URL())
					require.Equal(t, status, got, "over a new connection")
				}
				getWith(t, kept, e.URL())
				got, _ := getWith(t, kept, e.URL())
				assert.Equal(t, status, got, "the second time over one that was open")
			}
		})
	}
}

func TestTheSameListenerAgainIsNoChange(t *testing.T) {
	e := start(t, envoy.Setup{Listener: listener(t, answering(http.StatusAccepted))})
	require.NoError(t, e.SetListener(soon(t), listener(t, answering(http.StatusAccepted))))
	changes, err := e.Metric(soon(t), "listener_manager.listener_modified")
	require.NoError(t, err)
	assert.Zero(t, changes)
}

// inFlight sends a request that the endpoint, once it has arrived, answers when told.
func inFlight(t *testing.T, change func(e *envoy.Envoy)) {
	t.Helper()
	arrived, release := make(chan struct{}), make(chan struct{})
	e := start(t, eds(envoy.Setup{Listener: listener(t, envoy.Route("all", "/", models))},
		serve(t, func(w http.ResponseWriter, r *http.Request) {
			close(arrived)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "late")
		})))
	answer := make(chan *http.Response, 1)
	go func() {
		response, err := client(t).Get(e.URL())
		assert.NoError(t, err)
		answer <- response
	}()
	<-arrived
	change(e)
	close(release)
	response := <-answer
	require.NotNil(t, response)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "late", string(body))
}

func TestARequestOutlivesItsListener(t *testing.T) {
	for name, change := range listenerChanges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlight(t, func(e *envoy.Envoy) {
				next := listener(t, answering(http.StatusAccepted))
				change(next)
				require.NoError(t, e.SetListener(soon(t), next))
				status, _ := get(t, e.URL())
				assert.Equal(t, http.StatusAccepted, status)
			})
		})
	}
}

func TestARequestOutlivesItsEndpoint(t *testing.T) {
	inFlight(t, func(e *envoy.Envoy) {
		require.NoError(t, e.SetEndpoints(soon(t), models))
		status, _ := get(t, e.URL())
		assert.Equal(t, http.StatusServiceUnavailable, status)
	})
}

func TestARefusedListenerChangesNothing(t *testing.T) {
	e := start(t, envoy.Setup{Listener: listener(t, answering(http.StatusAccepted))})
	refused := func(wanted string, l *listenerv3.Listener) {
		t.Helper()
		var reason *envoy.RefusedError
		require.ErrorAs(t, e.SetListener(soon(t), l), &reason)
		assert.Contains(t, reason.Reason, wanted)
		assert.NotContains(t, reason.Reason, "stat_prefix", "no dump")
		status, _ := get(t, e.URL())
		assert.Equal(t, http.StatusAccepted, status)
	}
	refused("unknown cluster 'nowhere'", listener(t, envoy.Route("all", "/", "nowhere")))
	refused("inside range [200, 600)", listener(t, answering(9999)))

	require.NoError(t, e.SetListener(soon(t), listener(t, answering(http.StatusOK))))
	status, _ := get(t, e.URL())
	assert.Equal(t, http.StatusOK, status, "what is right is taken afterwards")

	other := listener(t, answering(http.StatusOK))
	other.Name = "egress"
	assert.ErrorContains(t, e.SetListener(soon(t), other), `the listener is called "ingress", not "egress"`)
}

func TestStartIsRefusedWithAWrongListenerOrCluster(t *testing.T) {
	for wanted, s := range map[string]envoy.Setup{
		"unknown cluster 'nowhere'":       {Listener: listener(t, envoy.Route("all", "/", "nowhere"))},
		"malformed IP address: localhost": {Listener: listener(t, answering(200)), Clusters: []*clusterv3.Cluster{envoy.StaticCluster(models, "localhost:80")}},
		"malformed IP address: 127.0.0.1:": {
			Listener: listener(t, answering(200)), Clusters: []*clusterv3.Cluster{envoy.StaticCluster(models, "127.0.0.1:x")},
		},
	} {
		t.Run(wanted, func(t *testing.T) {
			var reason *envoy.RefusedError
			require.ErrorAs(t, startError(t, s), &reason)
			assert.Contains(t, reason.Reason, wanted)
		})
	}
}
