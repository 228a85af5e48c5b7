package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// judgedWithin is a hand-made result whose moments can be wrong by two seconds.
func judgedWithin(t *testing.T, expectation string) *Result {
	t.Helper()
	result := judged(t, expectation)
	result.Tolerance.Base = 2 * time.Second
	return result
}

func TestAnExpectationHoldsIfItDoesWithinTheTolerance(t *testing.T) {
	for _, c := range []struct{ holds, fails string }{
		{"{blocked: {endpoint: A, by: 8s}}", "{blocked: {endpoint: A, by: 7s}}"},
		{"{blocked: {endpoint: A, after: 12s}}", "{blocked: {endpoint: A, after: 13s}}"},
		{"{blocked: {endpoint: A, lasting: 43s}}", "{blocked: {endpoint: A, lasting: 42s}}"},
		{"{blocked: {endpoint: A, lasting: 47s}}", "{blocked: {endpoint: A, lasting: 48s}}"},
		{"{never_blocked: {from: 53s}}", "{never_blocked: {from: 52s}}"},
		{"{never_blocked: {to: 12s}}", "{never_blocked: {to: 13s}}"},
		{"{blocks: {from: 54s, exactly: 0}}", "{blocks: {from: 52s, exactly: 0}}"},
		{"{blocks: {from: 56s, exactly: 1}}", "{blocks: {from: 58s, exactly: 1}}"},
		{"{returned: {endpoint: A, by: 54s}}", "{returned: {endpoint: A, by: 53s}}"},
		{"{requests_to: {endpoint: A, from: 55s, exactly: 0}}", "{requests_to: {endpoint: A, from: 54s, exactly: 0}}"},
		{"{requests_to: {endpoint: A, from: 58s, exactly: 1}}", "{requests_to: {endpoint: A, from: 59s, exactly: 1}}"},
		{"{requests_to: {endpoint: A, to: 57s, exactly: 1}}", "{requests_to: {endpoint: A, to: 59s, exactly: 1}}"},
		{"{requests_to: {endpoint: A, to: 42s, share_at_least: 50%}}", "{requests_to: {endpoint: A, to: 43s, share_at_least: 50%}}"},
		{"{requests_to: {endpoint: B, to: 3s, share_at_most: 0%}}", "{requests_to: {endpoint: B, to: 5s, share_at_most: 0%}}"},
		{"{requests: {outcome: answered, from: 55s, exactly: 0}}", "{requests: {outcome: answered, from: 54s, exactly: 0}}"},
		{"{slow_requests: {longer_than: 10s, exactly: 1}}", "{slow_requests: {longer_than: 11s, exactly: 1}}"},
		{"{slow_requests: {longer_than: 7s, exactly: 0}}", "{slow_requests: {longer_than: 6s, exactly: 0}}"},
		{"{metric: {name: bypasses_enforced, exactly: 6}}", "{metric: {name: bypasses_enforced, exactly: 7}}"},
		{"{metric: {name: bypasses_enforced, at_most: 2}}", "{metric: {name: bypasses_enforced, at_most: 1}}"},
	} {
		t.Run(c.fails, func(t *testing.T) {
			held := judgedWithin(t, c.holds).Verdicts()[0]
			assert.True(t, held.OK, held)
			failed := judgedWithin(t, c.fails).Verdicts()[0]
			assert.False(t, failed.OK, failed)
		})
	}
}

func TestWhereThereIsNoEdgeThereIsNoTolerance(t *testing.T) {
	for _, expectation := range []string{
		"{blocks: {exactly: 0}}",
		"{requests_to: {endpoint: A, exactly: 1}}",
		"{requests: {from: 1s, to: 2s, exactly: 2}}", // when they arrive is the file's own doing
		"{refused: {from: 32s, exactly: 1}}",
		"{client_errors: {from: 41s, exactly: 1}}",
		"{metric: {name: panics, exactly: 1}}",
		"{samples_counted: {exactly: 2}}",
		"{metric: {name: bypasses_enforced, exactly: 0}}", // none is none
		"{metric: {name: overrides_enforced, exactly: 1}}",
		"{trapped: {exactly: 0}}",
	} {
		failed := judgedWithin(t, expectation).Verdicts()[0]
		assert.False(t, failed.OK, failed)
	}
}

func TestAVerdictShowsTheRangeWhenItDecides(t *testing.T) {
	assert.Equal(t, "1", judgedWithin(t, "{requests_to: {endpoint: A, from: 55s, exactly: 1}}").Verdicts()[0].Seen)
	assert.Equal(t, "1 (0 to 1, by the tolerance)", judgedWithin(t, "{requests_to: {endpoint: A, from: 55s, exactly: 0}}").Verdicts()[0].Seen)
	assert.Equal(t, "33.3% (1 of 3), 33.3% to 50% by the tolerance", judgedWithin(t, "{requests_to: {endpoint: A, to: 42s, share_at_least: 50%}}").Verdicts()[0].Seen)
}

func TestEachBlockOfAnEndpointMayBeLaterThanTheOneBefore(t *testing.T) {
	late := func(expectation string, blocks ...*Block) bool {
		result := judged(t, expectation)
		result.Tolerance.Round = time.Second
		result.Blocks = append(result.Blocks, blocks...)
		return result.Verdicts()[0].OK
	}
	second := blockOfA(57, 58, 3, "in_flight")
	assert.True(t, late("{blocked: {endpoint: A, by: 9s}}"))
	assert.False(t, late("{blocked: {endpoint: A, by: 8s}}"))
	assert.True(t, late("{blocked: {endpoint: A, strikes: 3, by: 55s}}", second))
	assert.False(t, late("{blocked: {endpoint: A, strikes: 3, by: 54s}}", second))
	assert.False(t, late("{slow_requests: {longer_than: 9s, exactly: 1}}"), "durations do not add up")
}

func TestTheEndOfABlockMayHaveMovedUnseen(t *testing.T) {
	with := func(expectation string, change func(*Block)) bool {
		result := judgedWithin(t, expectation)
		change(result.Blocks[0])
		return result.Verdicts()[0].OK
	}
	shortened := func(b *Block) { b.EarliestEnd = seconds(20) }
	assert.True(t, with("{never_blocked: {from: 18s}}", shortened))
	assert.False(t, with("{never_blocked: {from: 17s}}", shortened))
	assert.True(t, with("{blocks: {from: 30s, exactly: 1}}", shortened))
	assert.True(t, with("{blocked: {endpoint: A, lasting: 8s}}", shortened))
	assert.False(t, with("{blocked: {endpoint: A, lasting: 7s}}", shortened))
	assert.True(t, with("{returned: {endpoint: A, after: 15s, by: 54s}}", shortened))

	longer := func(b *Block) { b.MayBeLonger = true }
	assert.True(t, with("{blocked: {endpoint: A, lasting: 200s}}", longer))
	assert.False(t, with("{blocked: {endpoint: A, lasting: 40s}}", longer))
	assert.True(t, with("{blocks: {from: 59s, exactly: 1}}", longer))
	assert.True(t, with("{blocks: {from: 59s, exactly: 0}}", longer))
}

func TestWhatAGatewayDoesNotShowIsNotJudged(t *testing.T) {
	result := judged(t, "{blocked: {endpoint: A}}, {blocks_shortened: {exactly: 0}}, {trapped: {exactly: 1}}")
	result.Unseen = map[string]string{"blocks_shortened": "nobody can look", "blocks_lost": "nobody can look", "configurations_refused": "nobody can look"}
	assert.Equal(t, Verdict{OK: true, What: "blocks shortened: exactly 0", Seen: "nothing: nobody can look", Unseen: true}, result.Verdicts()[1])
	assert.True(t, result.Passed())

	var out bytes.Buffer
	result.Gateway = "something real"
	result.Tolerance.Base = 2 * time.Second
	require.NoError(t, result.Write(&out, time.Second))
	assert.Contains(t, out.String(), "– blocks shortened: exactly 0 — seen: nothing: nobody can look")
	assert.Contains(t, out.String(), "PASS minimal (2 of 2 expectations, 1m0s on something real in 1s, moments exact to 2s)")
}

func TestTheReportSaysWhenTheEndOfABlockIsNotKnown(t *testing.T) {
	var out bytes.Buffer
	result := judged(t, "{refused: {exactly: 0}}")
	result.Blocks[0].MayBeLonger = true
	require.NoError(t, result.Write(&out, 0))
	assert.Contains(t, out.String(), "shortened 1× end not seen")
}

func TestTheMostArrivalsInATime(t *testing.T) {
	result := judged(t, "{refused: {exactly: 0}}") // they arrive at 1, 2, 30, 31, 40, 56 and 59s
	for long, want := range map[float64]int64{0: 0, 1: 1, 1.1: 2, 9: 2, 11: 3, 100: 7} {
		assert.Equal(t, want, result.mostArrivalsIn(seconds(long)), long)
	}
}

func TestTheArrivalsOfAScenarioAreInOrderAndTheSameForASeed(t *testing.T) {
	s, err := Parse([]byte(`
name: arrivals
duration: 10s
clusters: [{name: llm, latency: 1s, endpoints: [{name: A, address: 10.0.0.1:8000}]}]
traffic:
  - {name: late, from: 5s, rate: 1, spread: each}
  - {name: random, rate: 3, arrivals: poisson, spread: random}
  - {name: behind-the-end, from: 9s, burst: 4, over: 8s}
`))
	require.NoError(t, err)
	all := s.Arrivals(2, 1)
	assert.Equal(t, all, s.Arrivals(2, 1))
	assert.NotEqual(t, all, s.Arrivals(2, 2))
	of := map[string]int{}
	for i, a := range all {
		of[a.Traffic.Name]++
		require.True(t, i == 0 || a.At >= all[i-1].At)
	}
	assert.Equal(t, 10, of["late"], "five for each worker")
	assert.Equal(t, 1, of["behind-the-end"])
	assert.InDelta(t, 30, of["random"], 15)
}
