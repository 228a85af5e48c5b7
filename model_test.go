package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is the breaker of one endpoint in its plainest form: it keeps every sample for ever and
// decides by looking through all of them. With `evidence: shared` it does not matter who took them.
type model struct {
	rule         *rule
	counted      []sample // all that ever counted
	used         int      // of them, those that a block has used up
	since, until instant
	strikes      int
	finished     []count // by worker, since the latest block
}

func (m *model) inTime(worker int) { m.finished[worker].finished++ }

func (m *model) observe(worker int, s sample, now instant) outcome {
	if s.started < m.since {
		return outcomeStale
	}
	m.finished[worker].finished++
	m.finished[worker].slow++
	if !s.probe && m.windowIsOpen(s.reached) {
		return outcomeDeduplicated
	}
	m.counted = append(m.counted, s)
	if !s.probe && (m.evidence() < m.rule.confirmCount || !m.isSlow(m.finished[worker])) {
		return outcomeCounted
	}
	m.used = len(m.counted)
	if now < m.until {
		m.until = max(m.until, now.add(m.ttl()))
		return outcomeExtended
	}
	if m.strikes > 0 && now <= m.until.add(10*time.Minute) {
		m.strikes++
	} else {
		m.strikes = 1
	}
	m.since, m.until = now, now.add(m.ttl())
	clear(m.finished)
	return outcomeBlocked
}

func (m *model) windowIsOpen(reached instant) bool {
	for _, old := range m.counted {
		if reached < old.reached.add(m.rule.dedupWindow) && m.rule.dedupWindow > 0 {
			return true
		}
	}
	return false
}

// evidence counts the samples that none which came after them has left behind. Two workers may
// tell theirs in another order than that in which they were reached.
func (m *model) evidence() (n int) {
	for i := m.used; i < len(m.counted); i++ {
		old, latest := m.counted[i], m.counted[i].reached
		for _, later := range m.counted[i:] {
			latest = max(latest, later.reached)
		}
		if latest <= old.reached.add(m.rule.confirmWindow) && old.started >= m.since {
			n++
		}
	}
	return n
}

func (m *model) isSlow(c count) bool {
	return m.rule.minSlowPercent == 0 ||
		c.finished >= m.rule.minSlowRequests && float64(c.slow)/float64(c.finished) >= float64(m.rule.minSlowPercent)/100
}

// ttl knows that the random number is a half.
func (m *model) ttl() time.Duration {
	ttl := m.rule.blockTTL
	for range m.strikes - 1 {
		ttl = min(2*ttl, m.rule.blockTTLMax)
	}
	return ttl * time.Duration(200-m.rule.blockTTLJitterPercent) / 200
}

func seconds(rt *rapid.T, from, to int, label string) time.Duration {
	return time.Duration(rapid.IntRange(from, to).Draw(rt, label)) * time.Second
}

func drawRule(rt *rapid.T, evidence evidencePolicy) *rule {
	r := &rule{
		id:              "r",
		slowThreshold:   10 * time.Second,
		dedupWindow:     seconds(rt, 0, 5, "dedup_window"),
		confirmCount:    rapid.IntRange(1, 4).Draw(rt, "confirm_count"),
		confirmWindow:   seconds(rt, 20, 60, "confirm_window"),
		evidence:        evidence,
		blockTTL:        seconds(rt, 1, 40, "block_ttl"),
		minSlowRequests: 1,
		// Even, so that half of it is a whole number of percents.
		blockTTLJitterPercent: 2 * rapid.IntRange(0, 25).Draw(rt, "half of the jitter"),
	}
	r.blockTTLMax = r.blockTTL * time.Duration(rapid.IntRange(1, 10).Draw(rt, "growth"))
	return r
}

// Whatever the rule and the traffic, the breaker and the model say the same: with one worker, and
// with several that share their evidence.
func TestTheBreakerAgreesWithThePlainModel(t *testing.T) {
	pauses := []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second, 10 * time.Minute, 11 * time.Minute}
	for evidence, workers := range map[evidencePolicy]int{evidenceWorker: 1, evidenceShared: 4} {
		t.Run(evidence.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				newComparison(rt, drawRule(rt, evidence), workers).run(pauses)
			})
		})
	}
}

// The same where a share of slow requests is needed. All of it happens within the confirm window,
// over which the share is only known but for a tenth (see tally).
func TestTheShareOfSlowRequestsAgreesWithThePlainModel(t *testing.T) {
	pauses := []time.Duration{0, time.Second, 5 * time.Second}
	for evidence, workers := range map[evidencePolicy]int{evidenceWorker: 1, evidenceShared: 3} {
		t.Run(evidence.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				r := drawRule(rt, evidence)
				r.confirmWindow = 10 * time.Minute
				r.minSlowPercent = rapid.IntRange(1, 100).Draw(rt, "min_slow_percent")
				r.minSlowRequests = rapid.IntRange(1, 8).Draw(rt, "min_slow_requests")
				newComparison(rt, r, workers).run(pauses)
			})
		})
	}
}

// comparison shows the same traffic to the model and to the breakers of some workers.
type comparison struct {
	rt      *rapid.T
	rule    *rule
	model   *model
	workers []*breaker
	now     instant
}

func newComparison(rt *rapid.T, r *rule, workers int) *comparison {
	c := &comparison{rt: rt, rule: r, model: &model{rule: r, finished: make([]count, workers)}, now: boot}
	memory := newMemory()
	for range workers {
		store := newBlockStore(memory, func(err error) { rt.Error(err) })
		c.workers = append(c.workers, newBreaker(store, r.slowThreshold, new(time.Hour), noJitter))
	}
	return c
}

func (c *comparison) run(pauses []time.Duration) {
	for i := range rapid.IntRange(1, 60).Draw(c.rt, "requests") {
		c.now = c.now.add(rapid.SampledFrom(pauses).Draw(c.rt, "pause"))
		worker := rapid.IntRange(0, len(c.workers)-1).Draw(c.rt, "worker")
		if c.rule.minSlowPercent > 0 && rapid.Bool().Draw(c.rt, "in time") {
			c.inTime(worker)
		} else {
			c.late(worker, fmt.Sprint("request ", i))
		}
	}
}

func (c *comparison) inTime(worker int) {
	c.model.inTime(worker)
	_, err := c.workers[worker].store.read(c.now) // when the request came
	require.NoError(c.rt, err)
	c.workers[worker].inTime(c.rule, cluster, hostA, c.now)
}

func (c *comparison) late(worker int, what string) {
	reached := c.now.add(-rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(c.rt, "tick is late by"))
	s := sample{
		started: reached.add(-seconds(c.rt, 10, 60, "took")), reached: reached,
		probe: rapid.IntRange(0, 9).Draw(c.rt, "probe if 9") == 9,
	}
	want := c.model.observe(worker, s, c.now)
	got, err := c.workers[worker].observe(c.rule, cluster, hostA, s, reasonHeaders, c.now)
	require.NoError(c.rt, err)
	require.Equal(c.rt, want, got.outcome, what)
	if want == outcomeBlocked || want == outcomeExtended {
		require.Equal(c.rt, entry{
			Cluster: cluster, Endpoint: hostA, Since: c.model.since, Until: c.model.until,
			Strikes: c.model.strikes, Reason: reasonHeaders,
		}, got.entry, what)
	}
}
