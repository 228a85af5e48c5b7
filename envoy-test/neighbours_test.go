package envoytest

import (
	"context"
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

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/pluginlog"
)

// neighbour is one of several tests that share an Envoy, since starting one takes longer than
// most of them. Its world has a client, a route, a cluster and hosts of its own.
type neighbour struct {
	rule    string // what the test shows
	route   string // its name, also for `_match_route_`
	hosts   int    // 0 = three
	ipv6    bool
	eds     bool // the hosts come and go
	timeout time.Duration
	alone   bool // it runs before the others, not beside them
	test    func(*world)

	adaptCluster func(*clusterv3.Cluster)   // nil = it is the usual one
	adaptDomain  func(*routev3.VirtualHost) // nil = it is the usual one
}

// runNeighbours runs the tests on one Envoy, of which the setup gives the workers, the
// configuration and the like.
func runNeighbours(t *testing.T, s setup, neighbours ...neighbour) {
	t.Helper()
	worlds := make([]*world, len(neighbours))
	for i, n := range neighbours {
		worlds[i] = n.prepare(t, s)
	}
	startNeighbours(t, s, neighbours, worlds)
	for i, n := range neighbours {
		t.Run(n.rule, func(t *testing.T) {
			if !n.alone {
				t.Parallel()
			}
			worlds[i].t = t
			n.test(worlds[i])
		})
	}
}

// prepare makes the neighbour's world, up to the Envoy.
func (n neighbour) prepare(t *testing.T, s setup) *world {
	t.Helper()
	s.hosts, s.ipv6 = n.hosts, n.ipv6
	w := prepare(t, s)
	w.cluster = "outbound|8000||" + n.route + ".dns"
	w.client.Transport = toDomain{n.route, w.client.Transport}
	return w
}

func (n neighbour) cluster(w *world) *clusterv3.Cluster {
	cluster := envoy.StaticCluster(w.cluster, w.addresses()...)
	if n.eds {
		cluster = envoy.EDSCluster(w.cluster)
	}
	cluster.ConnectTimeout = durationpb.New(within) // else a busy machine makes Envoy answer 503
	if n.adaptCluster != nil {
		n.adaptCluster(cluster)
	}
	return cluster
}

func (n neighbour) domain(w *world) *routev3.VirtualHost {
	route := envoy.Route(n.route, "/", w.cluster)
	route.GetRoute().Timeout = durationpb.New(n.timeout)
	domain := &routev3.VirtualHost{Name: n.route, Domains: []string{n.route}, Routes: []*routev3.Route{route}}
	if n.adaptDomain != nil {
		n.adaptDomain(domain)
	}
	return domain
}

// startNeighbours starts the Envoy of all of them.
func startNeighbours(t *testing.T, s setup, neighbours []neighbour, worlds []*world) {
	t.Helper()
	byCluster, endpoints := map[string]*world{}, map[string][]string{}
	var clusters []*clusterv3.Cluster
	var domains []*routev3.VirtualHost
	for i, n := range neighbours {
		w := worlds[i]
		byCluster[w.cluster] = w
		clusters, domains = append(clusters, n.cluster(w)), append(domains, n.domain(w))
		if n.eds {
			endpoints[w.cluster] = w.addresses()
		}
	}
	s.routes = func(*world) *routev3.RouteConfiguration { return envoy.Routes(domains...) }
	common := &world{t: t, setup: s}
	ctx := context.WithoutCancel(t.Context()) // it is asked for metrics when the tests have ended
	started, err := envoy.Start(ctx, envoy.Setup{
		Workers:   s.workers,
		Listener:  common.listener(s.configuration),
		Clusters:  clusters,
		Endpoints: endpoints,
		OnAccess: func(a envoy.Access) {
			if w := byCluster[a.Cluster]; w != nil {
				w.note(a)
			}
		},
	})
	require.NoError(t, err)
	common.envoy = started
	for _, w := range worlds {
		w.envoy = started
	}
	t.Cleanup(func() {
		for _, name := range []string{"panics", "host_call_errors", "cas_give_ups", "shared_data_damaged"} {
			count, err := started.Metric(ctx, "wasmcustom.endpoint_breaker.metric."+name)
			assert.NoError(t, err)
			assert.Zero(t, count, name)
		}
		require.NoError(t, started.Stop())
		if t.Failed() {
			lines := strings.SplitAfter(common.story(), "\n") // under contention there are thousands
			t.Log(strings.Join(lines[max(0, len(lines)-200):], ""))
		}
	})
}

// toDomain sends a client's requests to one domain.
type toDomain struct {
	name string
	http.RoundTripper
}

func (d toDomain) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = d.name
	return d.RoundTripper.RoundTrip(r)
}

// eventually waits until the condition holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(within); !holds(); <-time.After(20 * time.Millisecond) {
		require.True(w.t, time.Now().Before(deadline), "waited %s for %s", within, what)
	}
}

// blockLine is a line of the plugin about a block. Whatever begins after `at` knows of it.
type blockLine struct {
	pluginlog.Block
	at time.Time
}

// blocks are the lines about blocks in the world's cluster so far, extensions left out.
func (w *world) blocks() []blockLine {
	w.t.Helper()
	return slices.DeleteFunc(w.blockLines(), func(b blockLine) bool { return b.Extended })
}

// extensions are the lines about blocks that were made longer, of which few are written.
func (w *world) extensions() []blockLine {
	w.t.Helper()
	return slices.DeleteFunc(w.blockLines(), func(b blockLine) bool { return !b.Extended })
}

func (w *world) blockLines() []blockLine {
	w.t.Helper()
	var blocks []blockLine
	for _, line := range w.envoy.Log() {
		block, found, err := pluginlog.ParseBlock(line.Message)
		require.NoError(w.t, err)
		if found && block.Cluster == w.cluster {
			blocks = append(blocks, blockLine{block, line.Time})
		}
	}
	return blocks
}

func (w *world) blocksOf(host *backend.Server) []blockLine {
	w.t.Helper()
	return slices.DeleteFunc(w.blocks(), func(b blockLine) bool { return b.Endpoint != host.Address() })
}

// blockOf waits for the first block of the host.
func (w *world) blockOf(host *backend.Server) blockLine {
	w.t.Helper()
	return w.blockSince(host, time.Time{})
}

// blockSince waits for a block of the host that has begun since then.
func (w *world) blockSince(host *backend.Server, from time.Time) (found blockLine) {
	w.t.Helper()
	w.eventually("a block of host "+host.Name(), func() bool {
		for _, b := range w.blocksOf(host) {
			if b.at.After(from) {
				found = b
				return true
			}
		}
		return false
	})
	return found
}

// finished waits until Envoy has told of so many requests of the world, and returns all.
func (w *world) finished(atLeast int) (accesses []envoy.Access) {
	w.t.Helper()
	w.eventually("the access log", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		accesses = slices.Clone(w.accesses)
		return len(accesses) >= atLeast
	})
	return accesses
}

// placed tells how many of the requests that began in that time each host has served.
func (w *world) placed(accesses []envoy.Access, from, to time.Time) map[string]int {
	served := map[string]int{}
	for _, a := range accesses {
		if a.Start.After(from) && a.Start.Before(to) {
			served[w.nameOf(a.Host)]++
		}
	}
	return served
}

func (w *world) nameOf(address string) string {
	for _, h := range w.hosts {
		if h.Address() == address {
			return h.Name()
		}
	}
	return address
}

// served requires that each request was answered with 200, by a host.
func (w *world) served(replies []reply) {
	w.t.Helper()
	for _, r := range replies {
		require.NoError(w.t, r.err)
		require.Equal(w.t, http.StatusOK, r.status)
		require.NotEmpty(w.t, r.host)
	}
}

// metrics are all of the plugin's metrics of the cluster.
func (w *world) metrics() map[string]float64 {
	w.t.Helper()
	all, err := w.envoy.Metrics(w.t.Context())
	require.NoError(w.t, err)
	require.Contains(w.t, all, "cluster."+w.cluster+".upstream_rq_total", "Envoy's own are there")
	own := map[string]float64{}
	for name, value := range all {
		if name, ok := strings.CutPrefix(name, "wasmcustom.endpoint_breaker.upstream."+w.cluster+".model.metric."); ok {
			own[name] = value
		}
	}
	return own
}
