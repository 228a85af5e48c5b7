package envoytest

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"endpoint-breaker/internal/backend"
)

// As long as hosts answer at last, nobody is turned away, whatever the breaker does: of so many
// requests each is answered with 200, by a host.
const manyRequests = 10_000

func TestLoad(t *testing.T) {
	t.Parallel()
	const configuration = `{"slow_threshold":"500ms","dedup_window":"100ms","confirm_window":"30s","block_ttl":"1s","check_interval":"100ms"}`
	runNeighbours(
		t, setup{workers: 2, configuration: configuration},
		neighbour{route: "bursts", test: bursts, alone: true, rule: "nobody is turned away when bursts meet a slow host"},
		neighbour{route: "all", test: allSlow, alone: true, rule: "nobody is turned away when all hosts are slow"},
		neighbour{route: "healing", test: healing, alone: true, rule: "nobody is turned away while hosts are blocked and come back"},
	)
}

// slowUnderLoad takes longer than the threshold.
func slowUnderLoad() http.Handler {
	return backend.After(backend.For(700*time.Millisecond), backend.Usual())
}

// Requests come in bursts. One of the hosts is slow all the time, and is blocked again when it has
// come back.
func bursts(w *world) {
	w.spread(12)
	w.hosts[0].Serve(slowUnderLoad())
	w.nobodyIsTurnedAway(w.attack(pacer{clients: 600, burst: 200, every: 200 * time.Millisecond}))
	assert.GreaterOrEqual(w.t, w.metric("blocks_enforced"), 3.0)
	assert.Positive(w.t, w.metric("overrides_enforced"))
}

// All hosts are slow all the time.
func allSlow(w *world) {
	w.spread(12)
	for _, h := range w.hosts {
		h.Serve(slowUnderLoad())
	}
	w.nobodyIsTurnedAway(w.attack(pacer{clients: 600, burst: 1, every: time.Millisecond}))
	assert.Greater(w.t, w.metric("blocks_enforced"), 2.0)
	assert.Greater(w.t, w.metric("bypasses_enforced"), 1000.0)
}

// One host after the other is slow until it is blocked, and serves again when its block is over.
func healing(w *world) {
	w.spread(12)
	ctx, enough := context.WithCancel(w.t.Context())
	var results []*vegeta.Result
	var attack sync.WaitGroup
	attack.Go(func() { results = w.attack(pacer{clients: 100, burst: 1, every: time.Millisecond, goOn: ctx.Done()}) })
	defer attack.Wait()
	defer enough()
	for i := range 6 {
		w.slowUntilBlocked(w.hosts[i%len(w.hosts)])
	}
	enough()
	attack.Wait()
	w.nobodyIsTurnedAway(results)
}

// slowUntilBlocked returns when the host has been blocked and serves again.
func (w *world) slowUntilBlocked(host *backend.Server) {
	w.t.Helper()
	began := time.Now()
	host.Serve(slowUnderLoad())
	block := w.blockSince(host, began)
	host.Serve(backend.Usual())
	free := block.at.Add(block.For)
	w.eventually("requests for "+host.Name(), func() bool { return host.CountBetween(free, free.Add(far)) >= 10 })
}

// attack sends manyRequests, or more, and returns when all are answered.
func (w *world) attack(p pacer) (results []*vegeta.Result) {
	target := vegeta.NewStaticTargeter(vegeta.Target{
		Method: http.MethodPost, URL: w.envoy.URL() + "/v1/chat/completions", Body: []byte(`{"model":"m"}`),
	})
	attacker := vegeta.NewAttacker(vegeta.Client(w.client), vegeta.MaxWorkers(p.clients))
	for result := range attacker.Attack(target, p, 0, "") {
		results = append(results, result)
	}
	return results
}

// pacer implements vegeta.Pacer.
type pacer struct {
	clients uint64 // at most so many wait for answers, so a busy machine is late, not overrun
	burst   int    // requests at once
	every   time.Duration
	goOn    <-chan struct{} // until it is closed; nil = not longer than for manyRequests
}

// Pace is asked before each request.
func (p pacer) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if hits >= manyRequests && p.mayEnd() {
		return 0, true
	}
	return time.Duration(int(hits)/p.burst)*p.every - elapsed, false
}

func (p pacer) mayEnd() bool {
	if p.goOn == nil {
		return true
	}
	select {
	case <-p.goOn:
		return true
	default:
		return false
	}
}

// Rate is part of vegeta.Pacer; an attack does not ask.
func (p pacer) Rate(time.Duration) float64 { return float64(p.burst) / p.every.Seconds() }

// nobodyIsTurnedAway judges by what the clients saw, and by who answered.
func (w *world) nobodyIsTurnedAway(results []*vegeta.Result) {
	w.t.Helper()
	assert.GreaterOrEqual(w.t, len(results), manyRequests)
	seen := map[string]int{}
	for _, r := range results {
		seen[strconv.Itoa(int(r.Code))+r.Error]++
	}
	assert.Equal(w.t, map[string]int{"200": len(results)}, seen)
	details := map[string]int{}
	accesses := w.finished(12 + len(results))
	for _, a := range accesses {
		details[a.Details]++
	}
	assert.Equal(w.t, map[string]int{"via_upstream": len(accesses)}, details)
}
