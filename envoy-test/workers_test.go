package envoytest

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/backend"
)

// Each worker counts for itself, and all of them read and write one blocklist.

func TestWorkers(t *testing.T) {
	t.Parallel()
	const configuration = `{"slow_threshold":"700ms","dedup_window":"100ms","confirm_window":"30s","block_ttl":"5s","check_interval":"100ms","_rules_":[
		{"_match_route_":["seen"],"block_ttl":"1m"},
		{"_match_route_":["burst"],"dedup_window":"3s"},
		{"_match_route_":["again"],"slow_threshold":"50ms","dedup_window":"0s","confirm_count":1,"block_ttl":"10ms"},
		{"_match_route_":["longer"],"slow_threshold":"50ms","dedup_window":"0s","confirm_count":1}
	]}`
	runNeighbours(
		t, setup{workers: 4, configuration: configuration},
		neighbour{route: "seen", test: blockIsSeenByAll, rule: "a block holds for every worker from its next request on"},
		neighbour{route: "burst", test: burstCountsOnce, hosts: 1, rule: "a burst that hangs together is one piece of evidence in each worker"},
		neighbour{route: "again", test: noWriteIsLost, hosts: 16, rule: "no block is lost when all workers write at once"},
		neighbour{route: "longer", test: blocksGetLonger, hosts: 8, rule: "evidence makes a block longer, whoever writes"},
	)
}

// A is late, and each request comes over a connection of its own, to whatever worker. None that
// begins after one worker has written the block reaches A.
func blockIsSeenByAll(w *world) {
	w.client.Transport = toDomain{"seen", &http.Transport{DisableKeepAlives: true}}
	a := w.hosts[0]
	w.spread(24)
	a.Serve(backend.After(backend.For(late), backend.Usual()))
	stop := w.background(24, 20*time.Millisecond)
	block := w.blockOf(a)
	others := func() int { return w.hosts[1].Count() + w.hosts[2].Count() }
	before := others()
	w.eventually("requests for the others", func() bool { return others() >= before+400 })
	replies := stop()

	w.served(replies)
	placed := w.placed(w.finished(24+len(replies)), block.at, block.at.Add(block.For))
	assert.Zero(w.t, placed["A"], "%v", placed)
	assert.Greater(w.t, placed["B"]+placed["C"], 350, "%v", placed)
}

// Forty requests hang together, and when they have been let go and the dedup window is over, forty
// more. The first forty are half of what confirms a block, in each worker that has any of them.
func burstCountsOnce(w *world) {
	host := w.hosts[0]
	answer := make(chan struct{})
	host.Serve(backend.After(backend.Until(answer), backend.Usual()))
	first := w.burst(40)
	w.eventually("forty samples", func() bool { return w.samples() == 40 })
	assert.Equal(w.t, 4.0, w.metric("samples"), "one of each worker")
	assert.Equal(w.t, 36.0, w.metric("samples_deduplicated"))
	assert.Empty(w.t, w.blocks())

	<-time.After(3 * time.Second)
	second := w.burst(40)
	w.eventually("eighty samples", func() bool { return w.samples() == 80 })
	assert.Len(w.t, w.blocks(), 1, "by the worker whose second sample came first")
	assert.Equal(w.t, 5.0, w.metric("samples"), "the block makes what the others have counted stale")
	close(answer)
	require.NoError(w.t, first())
	require.NoError(w.t, second())
}

// burst sends so many requests at once. What it returns waits for their answers.
func (w *world) burst(n int) (wait func() error) {
	var requests errgroup.Group
	for range n {
		requests.Go(func() error { return w.sendFor(w.t.Context(), http.MethodGet, "/v1/models", nil).err })
	}
	return requests.Wait
}

// samples is how many requests were found late, whatever became of that.
func (w *world) samples() float64 {
	w.t.Helper()
	metrics := w.metrics()
	return metrics["samples"] + metrics["samples_deduplicated"] + metrics["samples_stale"]
}

// Everything is slow, blocks are shorter than an answer takes, and one sample is enough: each host
// is blocked again and again by all workers.
func noWriteIsLost(w *world) {
	stop := w.contend()
	w.eventually("blocks", func() bool { return w.metric("blocks_enforced") >= 500 })
	w.served(stop())
	w.noBlockIsLost()
	w.tellOfRaces()
}

// Everything is slow, and with each sample the end of a block moves, to a whole block_ttl from then.
func blocksGetLonger(w *world) {
	stop := w.contend()
	w.eventually("longer blocks", func() bool { return w.metric("extensions_enforced") >= 500 })
	w.served(stop())
	w.noBlockIsLost()
	assert.NotEmpty(w.t, w.extensions())
	for _, e := range w.extensions() {
		assert.GreaterOrEqual(w.t, e.For, 5*time.Second)
	}
	w.tellOfRaces()
}

// noBlockIsLost judges by the strikes, which count a host's blocks: one that got lost would leave
// a number that comes twice.
func (w *world) noBlockIsLost() {
	w.t.Helper()
	w.eventually("the lines of all blocks", func() bool { return float64(len(w.blocks())) == w.metric("blocks_enforced") })
	strikes := map[string][]int{}
	for _, b := range w.blocks() {
		strikes[b.Endpoint] = append(strikes[b.Endpoint], b.Strikes)
	}
	assert.Len(w.t, strikes, len(w.hosts))
	for endpoint, numbers := range strikes {
		slices.Sort(numbers)
		for i, number := range numbers {
			require.Equal(w.t, i+1, number, endpoint)
		}
	}
}

// contend lets every host be slow for many clients.
func (w *world) contend() (stop func() []reply) {
	w.spread(4 * len(w.hosts))
	for _, h := range w.hosts {
		h.Serve(backend.After(backend.For(60*time.Millisecond), backend.Usual()))
	}
	return w.background(4*len(w.hosts), 10*time.Millisecond)
}

// tellOfRaces shows how often a worker had to start a write over, for whichever of the tests.
func (w *world) tellOfRaces() {
	w.t.Helper()
	lost, err := w.envoy.Metric(w.t.Context(), "wasmcustom.endpoint_breaker.metric.cas_conflicts")
	require.NoError(w.t, err)
	metrics := w.metrics()
	w.t.Logf("%.0f blocks, %.0f extensions, %.0f lost races so far", metrics["blocks_enforced"], metrics["extensions_enforced"], lost)
	assert.Positive(w.t, lost, "without a lost race nothing was shown")
}
