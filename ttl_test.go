package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTheTTLDoublesWithEachStrikeUpToItsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		configuration string
		want          []time.Duration // of the first, the second … strike
	}{
		"by default it stays":  {`{}`, []time.Duration{45 * time.Second, 45 * time.Second, 45 * time.Second}},
		"it grows":             {`{"block_ttl":"45s","block_ttl_max":"5m"}`, []time.Duration{45 * time.Second, 90 * time.Second, 3 * time.Minute, 5 * time.Minute, 5 * time.Minute}},
		"the limit is reached": {`{"block_ttl":"1m","block_ttl_max":"4m"}`, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 4 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			r := configured(t, c.configuration)
			for i, want := range c.want {
				assert.Equal(t, want, r.ttl(i+1, 0.99), "strike %d", i+1)
			}
		})
	}
}

func TestTheJitterShortensByUpToItsPercentage(t *testing.T) {
	r := configured(t, `{"block_ttl":"40s","block_ttl_jitter_percent":25}`)
	assert.Equal(t, 40*time.Second, r.ttl(1, 0))
	assert.Equal(t, 35*time.Second, r.ttl(1, 0.5))
	assert.Greater(t, r.ttl(1, 0.999), 30*time.Second)
}

func TestNoTTLIsLongerThanItsLimitNorShorterThanTheJitterAllows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &rule{
			blockTTL:              time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(rt, "block_ttl")),
			blockTTLJitterPercent: rapid.IntRange(0, 50).Draw(rt, "jitter"),
		}
		r.blockTTLMax = time.Duration(rapid.Int64Range(int64(r.blockTTL), int64(time.Hour)).Draw(rt, "block_ttl_max"))
		ttl := r.ttl(rapid.IntRange(1, mostStrikes).Draw(rt, "strikes"), rapid.Float64Range(0, 0.999).Draw(rt, "random"))
		assert.LessOrEqual(rt, ttl, r.blockTTLMax)
		assert.GreaterOrEqual(rt, ttl, r.blockTTL/2)
	})
}

// blockAt takes enough slow answers of the endpoint for a block at that second; their requests
// were sent after the latest one began.
func (g *gateway) blockAt(endpoint string, second float64) {
	g.t.Helper()
	require.Equal(g.t, outcomeCounted, g.answer(endpoint, second-5, 70))
	require.Equal(g.t, outcomeBlocked, g.answer(endpoint, second, 70))
}

func TestAHostThatStaysSlowIsBlockedForLongerEachTime(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"block_ttl":"45s","block_ttl_max":"5m"}`))
	for _, block := range []struct {
		at, lasts float64
		strikes   int
	}{
		{75, 45, 1},
		{200, 90, 2},
		{370, 180, 3},
		{630, 300, 4},
		{1010, 300, 5},
		{1310 + 600, 300, 6}, // exactly ten minutes after the end of the last one
		{2210 + 600.001, 45, 1},
	} {
		g.blockAt(hostA, block.at)
		e := g.entryOfA(block.at)
		assert.Equal(t, block.strikes, e.Strikes, "at %g", block.at)
		assert.Equal(t, at(block.at+block.lasts), e.Until, "at %g", block.at)
	}
	g.blockAt(hostB, 2900)
	e, _ := g.blocklist(0, 2900).find(cluster, hostB, false)
	assert.Equal(t, at(2945), e.Until, "strikes are an endpoint's own")
}

func TestAnExtensionIsAsLongAsTheCurrentStrikes(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"block_ttl":"100s","block_ttl_max":"10m"}`))
	g.blockAt(hostA, 75)
	g.blockAt(hostA, 200)
	require.Equal(t, at(400), g.entryOfA(200).Until)
	require.Equal(t, outcomeCounted, g.answer(hostA, 300, 70))
	require.Equal(t, outcomeExtended, g.answer(hostA, 305, 70))
	assert.Equal(t, at(505), g.entryOfA(305).Until)
	assert.Equal(t, 2, g.entryOfA(305).Strikes)
}

func TestHostsThatAreBlockedTogetherDoNotReturnTogether(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"confirm_count":1,"block_ttl":"100s","block_ttl_jitter_percent":20}`))
	g.workers[0].random = inTurn(0, 0.5, 0.99)
	for _, endpoint := range []string{hostA, hostB, hostC} {
		require.Equal(t, outcomeBlocked, g.answer(endpoint, 70, 70))
	}
	for endpoint, until := range map[string]float64{hostA: 170, hostB: 160, hostC: 150.2} {
		e, _ := g.blocklist(0, 70).find(cluster, endpoint, false)
		assert.Equal(t, at(until), e.Until, endpoint)
	}
}

func TestTheJitterOfAnExtensionShortensNothing(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"confirm_count":1,"slow_threshold":"1s","dedup_window":"0s","block_ttl":"100s","block_ttl_jitter_percent":50}`))
	g.workers[0].random = inTurn(0, 0.99)
	require.Equal(t, outcomeBlocked, g.answer(hostA, 70, 1))
	require.Equal(t, outcomeExtended, g.answer(hostA, 72, 1))
	assert.Equal(t, at(170), g.entryOfA(72).Until)
}

func TestNoGrowthGoesBeyondTheConfigurationInForce(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"block_ttl":"45s","block_ttl_max":"1h"}`))
	g.blockAt(hostA, 75)
	*g.workers[0].ttlLimit = time.Minute
	g.blockAt(hostA, 200)
	assert.Equal(t, at(260), g.entryOfA(200).Until)
}

// inTurn returns a source of random numbers that gives those, one after another.
func inTurn(numbers ...float64) func() float64 {
	return func() float64 {
		next := numbers[0]
		numbers = numbers[1:]
		return next
	}
}

func TestALaterConfigurationReplacesTheLimitOfItsOwnName(t *testing.T) {
	limits := ttlLimits{}
	limits.set("one", 10*time.Minute)
	first := limits.of("one")
	limits.set("other", 20*time.Second)
	assert.Equal(t, 10*time.Minute, *first, "another listener's configuration is none of its business")
	assert.Equal(t, 10*time.Minute, limits.longest(), "nothing is shortened to less than one of them gives")
	limits.set("one", time.Minute)
	assert.Equal(t, time.Minute, *first, "streams of the replaced configuration obey the successor")
	assert.Equal(t, time.Minute, limits.longest())
}
