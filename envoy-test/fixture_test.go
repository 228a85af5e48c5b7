package envoytest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clusterName is a cluster as Higress names it, and as rules for services match it.
const clusterName = "outbound|8000||llm.dns"

// quick is a configuration for tests: 70 s / 5 s / 45 s become 700 ms / 100 ms / 5 s. An answer
// that a busy machine holds up must not pass for a slow one.
const quick = `{"slow_threshold":"700ms","dedup_window":"100ms","confirm_window":"30s","block_ttl":"5s","check_interval":"100ms"}`

// within is for what must come some time.
const within = 30 * time.Second

// setup says what a test wants of its world. The zero value is: three hosts, two workers, quick.
type setup struct {
	hosts         int
	ipv6          bool
	workers       int
	configuration string
	// wasm is another build of the plugin than the one that is shipped.
	wasm          string
	env           map[string]string
	failurePolicy wasmv3.FailurePolicy
	// The following change what would be there by default; nil = nothing.
	cluster func(*clusterv3.Cluster)
	routes  func(*world) *routev3.RouteConfiguration
	// filters puts others around the plugin's.
	filters func(breaker []*hcmv3.HttpFilter) []*hcmv3.HttpFilter
	manager func(*hcmv3.HttpConnectionManager)
	// eds makes the hosts change while Envoy runs.
	eds bool
	// more clusters beside the first.
	more []*clusterv3.Cluster
}

// world is an Envoy with the plugin, the hosts behind it and a client in front.
type world struct {
	t       *testing.T
	setup   setup
	cluster string
	envoy   *envoy.Envoy
	hosts   []*backend.Server
	client  *http.Client

	mu       sync.Mutex
	accesses []envoy.Access
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := prepare(t, s)
	w.start()
	return w
}

// part runs a subtest, which is not parallel: as long as it runs, the world's checks are its own.
func (w *world) part(name string, check func()) {
	w.t.Helper()
	whole := w.t
	whole.Run(name, func(t *testing.T) {
		w.t = t
		defer func() { w.t = whole }()
		check()
	})
}

// prepare makes all but the Envoy.
func prepare(t *testing.T, s setup) *world {
	t.Helper()
	plugintest.EnvoyBinary(t)
	if s.hosts == 0 {
		s.hosts = 3
	}
	if s.workers == 0 {
		s.workers = 2
	}
	if s.configuration == "" {
		s.configuration = quick
	}
	w := &world{t: t, setup: s, cluster: clusterName}
	for i := range s.hosts {
		w.addHost(string(rune('A' + i)))
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	w.client = &http.Client{Transport: transport, Timeout: within}
	return w
}

// addHost starts one more backend, which is not in the cluster by that.
func (w *world) addHost(name string) *backend.Server {
	t := w.t
	t.Helper()
	host, err := backend.Start(t.Context(), backend.Options{Name: name, IPv6: w.setup.ipv6})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, host.Stop()) })
	w.hosts = append(w.hosts, host)
	return host
}

func (w *world) addresses() []string {
	var addresses []string
	for _, h := range w.hosts {
		addresses = append(addresses, h.Address())
	}
	return addresses
}

func (w *world) start() {
	w.t.Helper()
	require.NoError(w.t, w.tryStart())
}

// tryStart starts the Envoy; its refusal is the error.
func (w *world) tryStart() error {
	w.t.Helper()
	cluster := envoy.StaticCluster(clusterName, w.addresses()...)
	var endpoints map[string][]string
	if w.setup.eds {
		cluster = envoy.EDSCluster(clusterName)
		endpoints = map[string][]string{clusterName: w.addresses()}
	}
	if w.setup.cluster != nil {
		w.setup.cluster(cluster)
	}
	started, err := envoy.Start(w.t.Context(), envoy.Setup{
		Workers:   w.setup.workers,
		Listener:  w.listener(w.setup.configuration),
		Clusters:  append([]*clusterv3.Cluster{cluster}, w.setup.more...),
		Endpoints: endpoints,
		OnAccess:  w.note,
	})
	if err != nil {
		return err
	}
	w.envoy = started
	w.t.Cleanup(func() {
		require.NoError(w.t, started.Stop())
		if w.t.Failed() {
			w.t.Log(w.story())
		}
	})
	return nil
}

// listener is the one of the world, with that configuration of the plugin.
func (w *world) listener(configuration string) *listenerv3.Listener {
	w.t.Helper()
	wasm := w.setup.wasm
	if wasm == "" {
		wasm = plugintest.EnvoyPath(w.t)
	}
	filters, err := envoy.Breaker{
		Wasm: wasm, Configuration: configuration,
		Env: w.setup.env, FailurePolicy: w.setup.failurePolicy,
	}.Filters()
	require.NoError(w.t, err)
	if w.setup.filters != nil {
		filters = w.setup.filters(filters)
	}
	routes := envoy.Routes(envoy.AnyHost(envoy.Route("llm", "/", clusterName)))
	if w.setup.routes != nil {
		routes = w.setup.routes(w)
	}
	listener, err := envoy.NewListener(routes, filters...)
	require.NoError(w.t, err)
	if w.setup.manager != nil {
		require.NoError(w.t, envoy.EditManager(listener, w.setup.manager))
	}
	return listener
}

func (w *world) note(a envoy.Access) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accesses = append(w.accesses, a)
}

// story is what a failed test shows: Envoy's log.
func (w *world) story() string {
	var story strings.Builder
	for _, line := range w.envoy.Log() {
		fmt.Fprintln(&story, line.Time.Format("05.000"), line.Message)
	}
	return story.String()
}

// reply is what a client saw of one request.
type reply struct {
	host    string // who served it; "" = nobody
	status  int
	headers http.Header
	body    []byte
	took    time.Duration
	err     error
}

// send makes one request and reads its answer to the end.
func (w *world) send(method, path string, body io.Reader, headers ...string) reply {
	w.t.Helper()
	return w.sendFor(w.t.Context(), method, path, body, headers...)
}

// sendFor is send by a client that leaves when the context ends.
func (w *world) sendFor(ctx context.Context, method, path string, body io.Reader, headers ...string) reply {
	request, err := http.NewRequestWithContext(ctx, method, w.envoy.URL()+path, body)
	if err != nil {
		return reply{err: err}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if strings.EqualFold(headers[i], "host") {
			request.Host = headers[i+1]
		}
	}
	began := time.Now()
	response, err := w.client.Do(request)
	if err != nil {
		return reply{err: err, took: time.Since(began)}
	}
	defer response.Body.Close()
	var read bytes.Buffer
	_, err = read.ReadFrom(response.Body)
	return reply{
		host: response.Header.Get(backend.ServedByHeader), status: response.StatusCode,
		headers: response.Header, body: read.Bytes(), took: time.Since(began), err: err,
	}
}

// get is a request that must be answered with 200.
func (w *world) get() reply {
	w.t.Helper()
	r := w.send(http.MethodGet, "/v1/models", nil)
	require.NoError(w.t, r.err)
	require.Equal(w.t, http.StatusOK, r.status)
	return r
}

// spread sends n requests one after another and tells how many each host served.
func (w *world) spread(n int) map[string]int {
	w.t.Helper()
	served := map[string]int{}
	for range n {
		served[w.get().host]++
	}
	return served
}

// background sends requests from so many lanes until the returned function is called; that
// gives all replies.
func (w *world) background(lanes int, pause time.Duration) (stop func() []reply) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var mu sync.Mutex
	var replies []reply
	var running sync.WaitGroup
	for range lanes {
		running.Go(func() {
			for ctx.Err() == nil {
				r := w.sendFor(w.t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
				mu.Lock()
				replies = append(replies, r)
				mu.Unlock()
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	return func() []reply {
		cancel()
		running.Wait()
		return replies
	}
}

// metric is the value of one of the plugin's metrics of the cluster.
func (w *world) metric(name string) float64 {
	w.t.Helper()
	value, err := w.envoy.Metric(w.t.Context(), "wasmcustom.endpoint_breaker.upstream."+w.cluster+".model.metric."+name)
	require.NoError(w.t, err)
	return value
}
