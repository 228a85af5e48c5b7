package envoytest

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"endpoint-breaker/internal/backend"
)

// What the plugin does not know of a cluster does not apply while something is blocked.
func TestLimits(t *testing.T) {
	t.Parallel()
	const configuration = `{"slow_threshold":"1500ms","dedup_window":"0s","confirm_window":"30s","block_ttl":"10m","check_interval":"100ms","_rules_":[
		{"_match_route_":["replaced"],"block_ttl":"4s"}
	]}`
	runWitnessed(
		t, setup{workers: 1, configuration: configuration},
		neighbour{
			adaptCluster: withBackup,
			route:        "priorities", test: prioritiesDoNotApply,
			rule: "a host of a backup priority gets nothing until it has answered, then an equal share while something is blocked",
		},
		neighbour{
			adaptCluster: withWeights,
			route:        "weights", test: weightsDoNotApply,
			rule: "weights do not apply while something is blocked",
		},
		neighbour{
			adaptCluster: withRing, adaptDomain: byUser,
			route: "affinity", test: affinityDoesNotApply,
			rule: "hash affinity does not apply while something is blocked",
		},
		neighbour{
			adaptCluster: lastIsUnhealthy,
			route:        "never-answers", test: discoveryGoesOn,
			rule: "a host that never answers keeps the discovery going, at longer and longer pauses",
		},
		neighbour{
			eds:   true,
			route: "replaced", test: replacementWaits,
			rule: "a host that takes the place of a blocked one is met when that block ends",
		},
	)
}

// withBackup makes the last host one that is used when the others are not enough.
func withBackup(c *clusterv3.Cluster) {
	usual := c.GetLoadAssignment().GetEndpoints()[0]
	last := len(usual.GetLbEndpoints()) - 1
	backup := &endpointv3.LocalityLbEndpoints{Priority: 1, LbEndpoints: usual.GetLbEndpoints()[last:]}
	usual.LbEndpoints = usual.GetLbEndpoints()[:last]
	c.LoadAssignment.Endpoints = append(c.LoadAssignment.Endpoints, backup)
	healthChecks(c)
}

func prioritiesDoNotApply(w *world) {
	a, b := w.hosts[0], w.hosts[1]
	even(w.t, w.ways(12), "A", "B")
	w.blockBy(a, withHealth(http.StatusOK, backend.Hang()))
	before := w.ways(40)
	assert.Zero(w.t, before.served()["C"])
	assert.Zero(w.t, before.asked()["C"])

	b.Serve(withHealth(http.StatusServiceUnavailable, backend.Usual()))
	w.waitForHealthy(2)
	w.until("C helps out", func(y way) bool { return y.served == "C" })
	b.Serve(backend.Usual())
	w.waitForHealthy(3)
	w.until("B is used again", func(y way) bool { return y.obeyed("B") })
	even(w.t, w.ways(40), "B", "C")
}

// withWeights gives the hosts 10, 80 and 10 percent.
func withWeights(c *clusterv3.Cluster) {
	for i, e := range c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints() {
		e.LoadBalancingWeight = wrapperspb.UInt32([]uint32{1, 8, 1}[i])
	}
}

func weightsDoNotApply(w *world) {
	before := w.ways(40).served()
	assert.Greater(w.t, before["B"], 24, "%v", before)
	assert.NotZero(w.t, before["C"], "%v", before)
	w.blockBy(w.hosts[0], backend.Hang())
	even(w.t, w.ways(40), "B", "C")
}

func withRing(c *clusterv3.Cluster) { c.LbPolicy = clusterv3.Cluster_RING_HASH }

const userHeader = "x-user"

// byUser sends the requests of a user always to the same host.
func byUser(domain *routev3.VirtualHost) {
	domain.Routes[0].GetRoute().HashPolicy = []*routev3.RouteAction_HashPolicy{{
		PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: userHeader}},
	}}
}

func affinityDoesNotApply(w *world) {
	user := 0
	served := map[string]int{} // the last user of each host
	w.eventually("a user of each host", func() bool {
		user++
		served[w.ways(1, userHeader, strconv.Itoa(user))[0].served] = user
		return len(served) == 3
	})
	userOfB := strconv.Itoa(served["B"])
	assert.Equal(w.t, map[string]int{"B": 12}, w.ways(12, userHeader, userOfB).served())
	w.blockBy(w.hosts[0], backend.Hang())
	even(w.t, w.ways(20, userHeader, userOfB), "B", "C")
}

// lastIsUnhealthy makes the last host one that Envoy does not use.
func lastIsUnhealthy(c *clusterv3.Cluster) {
	hosts := c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()
	hosts[len(hosts)-1].HealthStatus = corev3.HealthStatus_UNHEALTHY
}

// Envoy counts each host of a cluster, also those that it does not use.
func discoveryGoesOn(w *world) {
	even(w.t, w.ways(12), "A", "B")
	w.blockBy(w.hosts[0], backend.Hang())
	blocked := w.blockOf(w.hosts[0]).at
	all := w.until("discoveries", func(way) bool {
		return time.Since(blocked) > 3*time.Second && w.metric("discoveries_enforced") >= 3
	})
	discoveries := w.metric("discoveries_enforced")
	// The pauses of a worker, of which there is one, are 200 ms, 400 ms, 800 ms, …
	assert.LessOrEqual(w.t, discoveries, math.Log2(1+float64(time.Since(blocked))/float64(200*time.Millisecond)))
	assert.LessOrEqual(w.t, all.asked()[""], int(discoveries))
	assert.LessOrEqual(w.t, all.served()["A"], all.asked()[""], "Envoy's own choices apart, the blocked one is avoided")
	assert.Zero(w.t, all.served()["C"])

	w.blockBy(w.hosts[1], backend.Hang())
	all = w.ways(20)
	even(w.t, all, "A", "B")
	assert.Equal(w.t, map[string]int{"": 20}, all.asked())
	assert.NotZero(w.t, w.metric("bypasses_enforced"), "all that can be chosen are blocked")
}

// As many hosts are known as there are, since nobody tells that the blocked one is gone.
func replacementWaits(w *world) {
	a, b, c := w.hosts[0], w.hosts[1], w.hosts[2]
	w.spread(12)
	w.blockBy(a, backend.Hang())
	block := w.blockOf(a)
	d := w.addHost("D")
	w.setHosts(b, c, d)
	all := w.until("D is met", func(y way) bool { return y.served == "D" })
	assert.True(w.t, all[len(all)-1].ended.After(block.at.Add(block.For-time.Second)))
	even(w.t, w.ways(30), "B", "C", "D")
}
