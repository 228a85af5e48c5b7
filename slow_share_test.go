package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestABlockNeedsTheShareOfSlowRequests(t *testing.T) {
	r := configured(t, `{"min_slow_percent":30,"min_slow_requests":10}`)
	for name, c := range map[string]struct {
		count count
		want  bool
	}{
		"too few requests":        {count{finished: 9, slow: 9}, false},
		"just enough, all slow":   {count{finished: 10, slow: 10}, true},
		"the share is reached":    {count{finished: 10, slow: 3}, true},
		"below the share":         {count{finished: 10, slow: 2}, false},
		"below it, of many":       {count{finished: 1000, slow: 299}, false},
		"no request has finished": {count{}, false},
	} {
		assert.Equal(t, c.want, r.isSlow(c.count), name)
	}
	assert.True(t, defaults().isSlow(count{}), "by default the share does not matter")
}

func TestATallyLooksBackForTheWindowAndATenthMore(t *testing.T) {
	const window = 100 * time.Second
	var c tally
	c.add(true, window, at(0))
	c.add(false, window, at(9.999))
	c.add(true, window, at(10))
	assert.Equal(t, count{finished: 3, slow: 2}, c.total(window, at(10)))
	assert.Equal(t, count{finished: 3, slow: 2}, c.total(window, at(109.999)))
	assert.Equal(t, count{finished: 1, slow: 1}, c.total(window, at(110)))
	assert.Equal(t, count{finished: 1, slow: 1}, c.total(window, at(119.999)))
	assert.Equal(t, count{}, c.total(window, at(120)))
}

func TestATallyForgetsAllAfterALongPause(t *testing.T) {
	const window = 10 * time.Second
	var c tally
	c.add(true, window, at(0))
	c.add(true, window, at(1_000_000))
	assert.Equal(t, count{finished: 1, slow: 1}, c.total(window, at(1_000_000)))
}

// Against a list of everything that ever happened.
func TestATallyCountsTheWindowExactlyButForATenth(t *testing.T) {
	const window = 10 * time.Second
	rapid.Check(t, func(rt *rapid.T) {
		var c tally
		var all []instant
		now := boot
		for range rapid.IntRange(1, 200).Draw(rt, "requests") {
			now = now.add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "pause")) * time.Millisecond)
			c.add(true, window, now)
			all = append(all, now)
		}
		within := func(d time.Duration) (n int) {
			for _, moment := range all {
				if now.since(moment) < d {
					n++
				}
			}
			return n
		}
		got := c.total(window, now)
		assert.Equal(rt, got.finished, got.slow)
		assert.GreaterOrEqual(rt, got.finished, within(window))
		assert.LessOrEqual(rt, got.finished, within(window+window/tallySlices+1))
	})
}

// inTime reports to a worker an answer of the endpoint that was not late. It has read the
// blocklist when the request came.
func (g *gateway) inTime(worker int, endpoint string, end float64) {
	g.t.Helper()
	g.blocklist(worker, end)
	g.workers[worker].inTime(g.rule, cluster, endpoint, at(end))
}

// The same traffic at one request a second, 20 % of it with prompts so long that even a healthy
// host is late.
func TestLongPromptsDoNotBlockAHealthyHost(t *testing.T) {
	longPrompts := func(r *rule) *gateway {
		g := newGateway(t, 1, r)
		for second := 100.0; second < 2000; second++ {
			if int(second)%5 == 0 {
				g.answer(hostA, second, 80)
			} else {
				g.inTime(0, hostA, second)
			}
		}
		return g
	}
	g := longPrompts(configured(t, `{"min_slow_percent":50}`))
	assert.Empty(t, g.blocklist(0, 2000).entries)
	g = longPrompts(defaults())
	assert.NotEmpty(t, g.blocklist(0, 2000).entries, "what the share is for")
}

func TestAReallySlowHostIsBlockedOnceItsShareIsReached(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"min_slow_percent":50}`))
	for second := 100.0; second < 500; second++ {
		g.inTime(0, hostA, second)
	}
	second := 500.0
	for g.answer(hostA, second, 70) != outcomeBlocked {
		second++
		require.Less(t, second, 1000.0)
	}
	assert.InDelta(t, 500+150, second, 16, "half of the confirm window, give or take a tenth and the dedup window")
}

func TestAFewRequestsAreNoShare(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"min_slow_percent":50,"min_slow_requests":6}`))
	for i := range 5 {
		require.Equal(t, outcomeCounted, g.answer(hostA, 70+5*float64(i), 70), "request %d", i)
	}
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 95, 70))
}

func TestWhatTheWindowSwallowsIsSlowNevertheless(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"confirm_count":1,"min_slow_percent":50,"min_slow_requests":4}`))
	g.inTime(0, hostA, 69)
	g.inTime(0, hostA, 69)
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70), "one of three")
	for range 2 {
		require.Equal(t, outcomeDeduplicated, g.answer(hostA, 71, 70))
	}
	g.inTime(0, hostA, 72)
	g.inTime(0, hostA, 72)
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70), "four of eight")
}

func TestTheShareOfOneEndpointIsNotThatOfAnother(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"min_slow_percent":50,"min_slow_requests":2}`))
	for range 10 {
		g.inTime(0, hostB, 60)
	}
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70))
}

func TestABlockResetsTheShare(t *testing.T) {
	r := configured(t, `{"confirm_count":1,"dedup_window":"0s","min_slow_percent":50,"min_slow_requests":20}`)
	for worker, who := range []string{"the worker that blocked it", "another one"} {
		g := newGateway(t, 2, r)
		for range 19 {
			require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
			require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 70, 70))
		}
		require.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 70, 70))
		for range 19 {
			require.Equal(t, outcomeStale, g.answerTo(worker, hostA, 100, 70), "an old request is no part of the share")
		}
		for range 19 {
			require.Equal(t, outcomeCounted, g.answerTo(worker, hostA, 140, 70), who)
		}
		assert.Equal(t, outcomeBlocked, g.answerTo(worker, hostA, 140, 70), who)
	}
}

func TestAnswersInTimeCountBeforeTheFirstLateOneAfterABlock(t *testing.T) {
	g := newGateway(t, 2, configured(t, `{"confirm_count":1,"min_slow_percent":50,"min_slow_requests":1}`))
	require.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 70, 70))
	for worker := range 2 {
		g.inTime(worker, hostA, 120)
		g.inTime(worker, hostA, 121)
	}
	for worker := range 2 {
		assert.Equal(t, outcomeCounted, g.answerTo(worker, hostA, 140+10*float64(worker), 70), "one of three in worker %d", worker)
	}
}

// The next request of the worker, which reads the blocklist, may be far off.
func TestAnswersInTimeCountRightAfterTheWorkersOwnBlock(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"confirm_count":1,"min_slow_percent":50,"min_slow_requests":1}`))
	require.Equal(t, outcomeBlocked, g.answer(hostA, 70, 70))
	for range 2 {
		g.workers[0].inTime(g.rule, cluster, hostA, at(71))
	}
	assert.Equal(t, outcomeCounted, g.answer(hostA, 140, 70), "one of three")
}

func TestOnlyRulesThatAskForAShareKeepATally(t *testing.T) {
	g := newGateway(t, 1, defaults())
	g.inTime(0, hostA, 69)
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	assert.Nil(t, g.workers[0].ledger.byEndpoint[ledgerKey{g.rule, cluster, hostA}].tally)
}
