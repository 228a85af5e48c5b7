package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is the breaker of one worker and one endpoint in its plainest form: it keeps every
// sample for ever and decides by looking through all of them.
type model struct {
	rule         *rule
	counted      []sample // all that ever counted
	used         int      // of them, those that a block has used up
	since, until instant
	strikes      int
}

func (m *model) observe(s sample, now instant) outcome {
	if s.started < m.since {
		return outcomeStale
	}
	if n := len(m.counted); n > 0 && m.rule.dedupWindow > 0 && s.reached < m.counted[n-1].reached.add(m.rule.dedupWindow) {
		return outcomeDeduplicated
	}
	m.counted = append(m.counted, s)
	evidence := 0
	for _, old := range m.counted[m.used:] {
		if s.reached <= old.reached.add(m.rule.confirmWindow) && old.started >= m.since {
			evidence++
		}
	}
	if evidence < m.rule.confirmCount {
		return outcomeCounted
	}
	m.used = len(m.counted)
	if now < m.until {
		m.until = max(m.until, now.add(m.rule.blockTTL))
		return outcomeExtended
	}
	if m.strikes > 0 && now <= m.until.add(10*time.Minute) {
		m.strikes++
	} else {
		m.strikes = 1
	}
	m.since, m.until = now, now.add(m.rule.blockTTL)
	return outcomeBlocked
}

// Whatever the rule and the traffic, the breaker and the model say the same.
func TestTheBreakerAgreesWithThePlainModel(t *testing.T) {
	seconds := func(rt *rapid.T, from, to int, label string) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(rt, label)) * time.Second
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := &rule{
			slowThreshold: 10 * time.Second,
			dedupWindow:   seconds(rt, 0, 5, "dedup_window"),
			confirmCount:  rapid.IntRange(1, 4).Draw(rt, "confirm_count"),
			confirmWindow: seconds(rt, 20, 60, "confirm_window"),
			blockTTL:      seconds(rt, 1, 40, "block_ttl"),
		}
		m := &model{rule: r}
		b := newBreaker(newBlockStore(newMemory(), func(err error) { rt.Error(err) }), r.slowThreshold, new(time.Hour))
		now := boot
		for range rapid.IntRange(1, 60).Draw(rt, "samples") {
			now = now.add(rapid.SampledFrom([]time.Duration{
				0, time.Second, 5 * time.Second, 30 * time.Second, 10 * time.Minute, 11 * time.Minute,
			}).Draw(rt, "pause"))
			reached := now.add(-rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "tick is late by"))
			s := sample{started: reached.add(-seconds(rt, 10, 60, "took")), reached: reached}

			want := m.observe(s, now)
			got, err := b.observe(r, cluster, hostA, s, reasonHeaders, now)
			require.NoError(rt, err)
			require.Equal(rt, want, got.outcome)
			if want == outcomeBlocked || want == outcomeExtended {
				require.Equal(rt, entry{
					Cluster: cluster, Endpoint: hostA, Since: m.since, Until: m.until, Strikes: m.strikes, Reason: reasonHeaders,
				}, got.entry)
			}
		}
	})
}
