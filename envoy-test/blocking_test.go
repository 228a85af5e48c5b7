package envoytest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/backend"
)

// late is more than the thresholds here, and is what a slow host takes.
const late = 900 * time.Millisecond

// far is later than any test.
const far = 24 * time.Hour

func TestBlocks(t *testing.T) {
	t.Parallel()
	const configuration = `{"slow_threshold":"700ms","dedup_window":"100ms","confirm_window":"30s","block_ttl":"5s","check_interval":"100ms","_rules_":[
		{"_match_route_":["observed"],"mode":"observe"},
		{"_match_route_":["off"],"mode":"off"}
	]}`
	runNeighbours(
		t, setup{workers: 2, configuration: configuration},
		neighbour{route: "slow", test: blockAndReturn, rule: "a slow host gets nothing until its block ends, then requests again"},
		neighbour{route: "hanging", test: foundWhileWaiting, rule: "a hanging host is found before it answers"},
		neighbour{route: "all", test: allBlocked, rule: "when all hosts are blocked all are used, and nobody is turned away"},
		neighbour{route: "observed", test: observed, rule: "mode observe tells of blocks and steers nothing"},
		neighbour{route: "off", test: off, rule: "mode off does not even look"},
	)
}

// A answers late until it is blocked, then at once. No request that begins while it is blocked
// reaches it, and when the block has ended requests do.
func blockAndReturn(w *world) {
	a := w.hosts[0]
	w.spread(12)
	a.Serve(backend.After(backend.For(late), backend.Usual()))
	stop := w.background(12, 20*time.Millisecond)
	block := w.blockOf(a)
	a.Serve(backend.Usual())
	free := block.at.Add(block.For)
	w.eventually("requests for A after its block", func() bool { return a.CountBetween(free, free.Add(far)) >= 20 })
	replies := stop()

	w.served(replies)
	blocked := w.placed(w.finished(12+len(replies)), block.at, free.Add(-time.Second))
	assert.Zero(w.t, blocked["A"], "%v", blocked)
	assert.Greater(w.t, blocked["B"], 10, "%v", blocked)
	assert.Greater(w.t, blocked["C"], 10, "%v", blocked)
	assert.Len(w.t, w.blocksOf(a), 1, "what began before the block is no evidence after it")
}

// A hangs. When it is blocked all its requests still wait, and they are left to it.
func foundWhileWaiting(w *world) {
	a := w.hosts[0]
	before := w.spread(12)["A"]
	answer := make(chan struct{})
	a.Serve(backend.After(backend.Until(answer), backend.Usual()))
	stop := w.background(12, 20*time.Millisecond)
	block := w.blockOf(a)
	waiting := a.Requests()[before:]
	close(answer)
	replies := stop()

	assert.Equal(w.t, "in_flight", block.Reason)
	assert.GreaterOrEqual(w.t, len(waiting), 2, "as many as confirm a block")
	for _, r := range waiting {
		assert.False(w.t, r.Ended, "a request that A has answered")
	}
	w.served(replies)
	served := map[string]int{}
	for _, r := range replies {
		served[r.host]++
	}
	assert.GreaterOrEqual(w.t, served["A"], len(waiting), "those that waited got their answer from A")
}

// All hosts are late, one after the other they are blocked, and they stay blocked as long as
// answers are late. Each still gets requests, and each request gets its answer from a host.
func allBlocked(w *world) {
	w.spread(12)
	for _, h := range w.hosts {
		h.Serve(backend.After(backend.For(late), backend.Usual()))
	}
	stop := w.background(24, 20*time.Millisecond)
	var last time.Time
	for _, h := range w.hosts {
		if at := w.blockOf(h).at; at.After(last) {
			last = at
		}
	}
	for _, h := range w.hosts {
		w.eventually("requests for "+h.Name(), func() bool { return h.CountBetween(last, last.Add(far)) >= 30 })
	}
	w.eventually("bypasses", func() bool { return w.metric("bypasses_enforced") >= 90 })
	w.eventually("longer blocks", func() bool { return w.metric("extensions_enforced") >= 3 })
	replies := stop()

	w.served(replies)
	for _, a := range w.finished(12 + len(replies)) {
		require.Equal(w.t, "via_upstream", a.Details, "%+v", a)
	}
	w.noBlockIsLost()
}

// A is late. The plugin says that it would block it, and A keeps its share.
func observed(w *world) {
	a := w.hosts[0]
	w.spread(12)
	a.Serve(backend.After(backend.For(late), backend.Usual()))
	stop := w.background(12, 20*time.Millisecond)
	block := w.blockOf(a)
	free := block.at.Add(block.For)
	w.eventually("requests for A", func() bool { return a.CountBetween(block.at, free) >= 20 })
	w.eventually("what would have been done", func() bool { return w.metric("overrides_observed") >= 20 })
	w.served(stop())

	assert.Equal(w.t, "observe", block.Mode)
	for _, name := range []string{"blocks_enforced", "overrides_enforced", "bypasses_enforced", "extensions_enforced"} {
		assert.Zero(w.t, w.metric(name), name)
	}
}

// A is late many times over, and no metric moves.
func off(w *world) {
	a := w.hosts[0]
	before := w.spread(12)["A"]
	a.Serve(backend.After(backend.For(late), backend.Usual()))
	stop := w.background(12, 20*time.Millisecond)
	w.eventually("late answers", func() bool { return len(ended(a)) >= before+40 })
	w.served(stop())

	assert.Empty(w.t, w.blocks())
	assert.Empty(w.t, w.metrics(), "the plugin makes a metric when it first has something to count")
}

// ended are the requests that the host is through with.
func ended(host *backend.Server) []backend.Request {
	var ended []backend.Request
	for _, r := range host.Requests() {
		if r.Ended {
			ended = append(ended, r)
		}
	}
	return ended
}
