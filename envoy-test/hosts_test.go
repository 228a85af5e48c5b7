package envoytest

import (
	"net/http"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/backend"
)

// A stock Envoy does not tell a plugin which hosts there are: these are the rules by which it
// learns and forgets them (docs/design.md, "Two builds").
func TestKnownHosts(t *testing.T) {
	t.Parallel()
	runWitnessed(
		t, setup{workers: 4, configuration: lasting},
		neighbour{
			eds:   true,
			route: "nothing-blocked", test: hostsComeAndGo,
			rule: "while nothing is blocked, hosts come and go as without the plugin",
		},
		neighbour{
			eds:   true,
			route: "discovery", test: newHostIsMet,
			rule: "while something is blocked, Envoy chooses now and then until it has met a new host, which is then used",
		},
		neighbour{
			eds:   true,
			route: "all-blocked", hosts: 2, test: allKnownAreBlocked,
			rule: "when all hosts are known and blocked Envoy balances over all, and a new one is met by that",
		},
		neighbour{
			adaptDomain: retries,
			route:       "refuses", test: connectionsFail,
			rule: "a host that refuses connections is dropped at once, and with retries no client sees it",
		},
		neighbour{
			route: "refuses-without-retries", test: connectionsFailWithoutRetries,
			rule: "a host that refuses connections is dropped at once, also without retries",
		},
		neighbour{
			adaptCluster: healthChecks,
			route:        "unhealthy", test: healthCheckFails,
			rule: "a host that fails its health checks is passed over and dropped, and comes back healthy",
		},
		neighbour{
			adaptCluster: outlierDetection,
			route:        "ejected", test: hostIsEjected,
			rule: "a host that outlier detection has ejected is passed over and dropped",
		},
		neighbour{
			route: "workers", test: learnedTogether,
			rule: "what one worker has learned all use",
		},
	)
}

func hostsComeAndGo(w *world) {
	a, b, c := w.hosts[0], w.hosts[1], w.hosts[2]
	even(w.t, w.ways(30), "A", "B", "C")

	d := w.addHost("D")
	w.setHosts(a, b, c, d)
	w.until("D is used", func(y way) bool { return y.served == "D" })
	even(w.t, w.ways(40), "A", "B", "C", "D")

	w.setHosts(a, c, d)
	w.eventually("B is gone", func() bool { return w.ways(6).served()["B"] == 0 })
	even(w.t, w.ways(30), "A", "C", "D")

	assert.Zero(w.t, w.metric("overrides_enforced"))
	assert.Zero(w.t, w.metric("discoveries_enforced"))
}

// even requires that the hosts, and no others, share the requests.
func even(t *testing.T, all ways, hosts ...string) {
	t.Helper()
	served := all.served()
	assert.Len(t, served, len(hosts), "%v", served)
	for _, h := range hosts {
		assert.GreaterOrEqual(t, 2*served[h], len(all)/len(hosts), "%v", served)
	}
}

func newHostIsMet(w *world) {
	a, b, c := w.hosts[0], w.hosts[1], w.hosts[2]
	w.spread(12)
	w.blockBy(a, backend.Hang())
	even(w.t, w.aSecond(), "B", "C")
	require.Zero(w.t, w.metric("discoveries_enforced"), "all hosts are known")

	d := w.addHost("D")
	w.setHosts(a, b, c, d)
	seeking := w.until("D is met", func(y way) bool { return y.served == "D" })
	met := w.metric("discoveries_enforced")
	assert.EqualValues(w.t, seeking.asked()[""], met, "only a discovery meets a host that is not known")
	assert.Greater(w.t, len(seeking), seeking.asked()[""], "the other requests don't wait for it")

	after := w.aSecond()
	even(w.t, after, "B", "C", "D")
	assert.Zero(w.t, after.asked()[""])
	assert.Equal(w.t, met, w.metric("discoveries_enforced"), "again all hosts are known")
}

// aSecond sends requests for longer than the first discoveries wait.
func (w *world) aSecond() ways {
	w.t.Helper()
	began := time.Now()
	return w.until("a second", func(way) bool { return time.Since(began) > time.Second })
}

func allKnownAreBlocked(w *world) {
	a, b := w.hosts[0], w.hosts[1]
	w.spread(8)
	w.blockBy(a, backend.Hang())
	w.blockBy(b, backend.Hang())
	before := w.metric("bypasses_enforced")
	all := w.ways(20)
	even(w.t, all, "A", "B")
	assert.Equal(w.t, map[string]int{"": 20}, all.asked())
	assert.GreaterOrEqual(w.t, w.metric("bypasses_enforced")-before, 20.0)
	assert.Zero(w.t, w.metric("discoveries_enforced"))

	c := w.addHost("C")
	w.setHosts(a, b, c)
	w.until("C is met", func(y way) bool { return y.served == "C" })
	assert.Equal(w.t, map[string]int{"C": 20}, w.ways(20).asked())
}

// retries makes Envoy try another host when one has failed.
func retries(domain *routev3.VirtualHost) {
	domain.RetryPolicy = &routev3.RetryPolicy{RetryOn: "connect-failure,reset", NumRetries: wrapperspb.UInt32(4)}
}

func connectionsFail(w *world) {
	b := w.hosts[1]
	refused := w.refusing(b, func() { w.ways(60) })
	// One was asked to go there, and a retry or a discovery may have met it.
	assert.LessOrEqual(w.t, refused, 3+2*w.metric("discoveries_enforced"))

	require.NoError(w.t, b.Restart(w.t.Context()))
	w.until("B is met, known and asked for", func(y way) bool { return y.obeyed("B") })
}

func connectionsFailWithoutRetries(w *world) {
	var all ways
	w.refusing(w.hosts[1], func() {
		for range 60 {
			all = append(all, w.try())
		}
	})
	failed := 0
	for _, y := range all {
		if y.status != http.StatusOK {
			failed++
			assert.Equal(w.t, http.StatusServiceUnavailable, y.status)
		}
	}
	// One may have taken an old connection, which says nothing about new ones.
	assert.LessOrEqual(w.t, all.asked()["B"], 2)
	assert.LessOrEqual(w.t, failed, 2+all.asked()[""], "Envoy's own choices apart")
	assert.LessOrEqual(w.t, all.served()["A"], all.asked()[""], "Envoy's own choices apart, the blocked one is avoided")
}

// refusing blocks A, makes the host refuse connections, and tells how often it did during the
// requests.
func (w *world) refusing(host *backend.Server, requests func()) float64 {
	w.t.Helper()
	w.spread(12)
	w.blockBy(w.hosts[0], backend.Hang())
	w.until("the host is asked for", func(y way) bool { return y.obeyed(host.Name()) })
	failures := "cluster." + w.cluster + ".upstream_cx_connect_fail"
	before := w.envoyMetric(failures)
	require.NoError(w.t, host.Stop())
	requests()
	return w.envoyMetric(failures) - before
}

func (w *world) envoyMetric(name string) float64 {
	w.t.Helper()
	value, err := w.envoy.Metric(w.t.Context(), name)
	require.NoError(w.t, err)
	return value
}

// healthPath is where health checks ask.
const healthPath = "/healthz"

// healthChecks lets Envoy ask each host all the time. A busy machine does not make one unhealthy.
func healthChecks(c *clusterv3.Cluster) {
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout: durationpb.New(within), Interval: durationpb.New(100 * time.Millisecond),
		NoTrafficInterval:  durationpb.New(100 * time.Millisecond),
		UnhealthyThreshold: wrapperspb.UInt32(1), HealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{
			Host: "health", Path: healthPath, // the cluster's name would be no valid Host
		}},
	}}
}

// withHealth answers health checks with the code, and hands everything else on.
func withHealth(code int, then http.Handler) http.Handler {
	health := backend.Status(code)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath {
			health.ServeHTTP(rw, r)
			return
		}
		then.ServeHTTP(rw, r)
	})
}

func (w *world) waitForHealthy(hosts float64) {
	w.t.Helper()
	w.eventually("healthy hosts", func() bool { return w.envoyMetric("cluster."+w.cluster+".membership_healthy") == hosts })
}

func healthCheckFails(w *world) {
	b := w.hosts[1]
	w.spread(12)
	w.blockBy(w.hosts[0], withHealth(http.StatusOK, backend.Hang()))
	b.Serve(withHealth(http.StatusServiceUnavailable, backend.Usual()))
	w.waitForHealthy(2)
	w.passedOverAndDropped(b)

	b.Serve(backend.Usual())
	w.waitForHealthy(3)
	w.until("B is met, known and asked for", func(y way) bool { return y.obeyed("B") })
}

// outlierDetection ejects a host for its first 5xx.
func outlierDetection(c *clusterv3.Cluster) {
	c.OutlierDetection = &clusterv3.OutlierDetection{
		Consecutive_5Xx: wrapperspb.UInt32(1), MaxEjectionPercent: wrapperspb.UInt32(100),
		BaseEjectionTime: durationpb.New(time.Hour), MaxEjectionTime: durationpb.New(time.Hour),
	}
}

func hostIsEjected(w *world) {
	b := w.hosts[1]
	w.spread(12)
	w.blockBy(w.hosts[0], backend.Hang())
	b.Serve(backend.Status(http.StatusInternalServerError))
	w.eventually("B is ejected", func() bool {
		w.try()
		return w.envoyMetric("cluster."+w.cluster+".outlier_detection.ejections_active") == 1
	})
	b.Serve(backend.Usual())
	w.passedOverAndDropped(b)
}

// passedOverAndDropped requires that the plugin, which still knows the host, asks for it, that
// Envoy passes over to another, and that it is not asked for again.
func (w *world) passedOverAndDropped(host *backend.Server) {
	w.t.Helper()
	w.until("Envoy passes over the host", func(y way) bool { return y.asked == host.Name() && y.passedOver() })
	all := w.aSecond()
	// Another worker may find out for itself.
	assert.Less(w.t, all.asked()[host.Name()], w.setup.workers)
	assert.Zero(w.t, all.served()[host.Name()])
	assert.LessOrEqual(w.t, all.served()["A"], all.asked()[""]+all.asked()[host.Name()],
		"Envoy's own choices apart, the blocked one is avoided")
}

// One connection belongs to one worker: the others have seen nothing of this cluster until the
// requests that each come over a new connection, which the kernel deals out to all.
func learnedTogether(w *world) {
	w.spread(12)
	w.hosts[0].Serve(backend.After(backend.For(2*time.Second), backend.Usual()))
	w.until("A is blocked", func(way) bool { return len(w.blocks()) > 0 })
	w.hosts[0].Serve(backend.Usual())
	before := w.metric("overrides_enforced")

	all := w.ways(60, "connection", "close")
	even(w.t, all, "B", "C")
	assert.Zero(w.t, all.asked()[""])
	assert.Equal(w.t, 60.0, w.metric("overrides_enforced")-before)
	assert.Zero(w.t, w.metric("discoveries_enforced"))
}
