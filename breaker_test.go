package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The specification, told by the defaults: 70 s is slow, one sample counts per 5 s, 2 of them
// block for 45 s.

// T+0 a request goes to A. T+70 it is slow: the first sample. T+71… others that hang there
// fall into the window. T+75 the window has passed: the second sample blocks A for 45 s.
func TestTheTimelineOfTheDefaults(t *testing.T) {
	g := newGateway(t, 1, defaults())

	assert.Equal(t, outcomeCounted, g.answer(hostA, 70, 70), "T+70: the first slow answer counts")
	assert.Equal(t, outcomeDeduplicated, g.answer(hostA, 71, 71), "T+71: the window has swallowed it")
	assert.Equal(t, outcomeDeduplicated, g.answer(hostA, 72, 70))
	assert.Equal(t, outcomeDeduplicated, g.answer(hostA, 74.999, 70))
	assert.False(t, g.blocked(0, hostA, 74.999))
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70), "T+75: the second one confirms")

	assert.True(t, g.blocked(0, hostA, 75))
	assert.True(t, g.blocked(0, hostA, 119.999), "within the TTL")
	assert.False(t, g.blocked(0, hostA, 120), "at until it is free: nobody has to wake up")
	assert.False(t, g.blocked(0, hostB, 75), "nobody else is concerned")
}

func TestFortyRequestsThatHangTogetherAreOnePieceOfEvidence(t *testing.T) {
	g := newGateway(t, 1, defaults())
	counted := 0
	for i := range 40 {
		if g.answer(hostA, 70+float64(i)*0.1, 70) == outcomeCounted {
			counted++
		}
	}
	assert.Equal(t, 1, counted)
	assert.Equal(t, 1, g.countOfA(0))
}

func TestAFastAnswerNeitherCountsNorClearsNorOpensAWindow(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	require.Equal(t, notASample, g.answer(hostA, 74.5, 1))
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70))
}

func TestASwallowedSampleDoesNotProlongTheWindow(t *testing.T) {
	r := configured(t, `{"confirm_count": 3}`)
	g := newGateway(t, 1, r)
	require.Equal(t, outcomeCounted, g.answer(hostA, 80, 75))
	require.Equal(t, outcomeDeduplicated, g.answer(hostA, 84, 75))
	assert.Equal(t, outcomeCounted, g.answer(hostA, 85, 75), "5 s after the last counted one")
}

func TestTheWindowOfOneEndpointIsNotThatOfAnother(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	assert.Equal(t, outcomeCounted, g.answer(hostB, 70, 70))
}

func TestWithoutAWindowEverySampleCounts(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"dedup_window": "0s"}`))
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 70, 70))
}

func TestTheFirstSampleCountsHoweverYoungTheClockIs(t *testing.T) {
	b := newBreaker(newBlockStore(newMemory(), func(error) {}), time.Second, new(time.Hour), noJitter)
	r := configured(t, `{"slow_threshold": "1s", "dedup_window": "10m", "confirm_window": "10m"}`)
	now := unknown.add(2 * time.Second)
	v, err := b.observe(r, cluster, hostA, sample{started: now.add(-time.Second), reached: now}, reasonHeaders, now)
	require.NoError(t, err)
	assert.Equal(t, outcomeCounted, v.outcome)
}

func TestOneConfirmationBlocksAtOnce(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"confirm_count": 1}`))
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 70, 70))
}

// A sample that a late tick reports counts from when its threshold was reached, so it may come
// after one that was reached later.
func TestASampleFromBeforeTheLastCountedOneIsSwallowed(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 80, 70))
	assert.Equal(t, outcomeDeduplicated, g.answer(hostA, 71, 70))
}

func TestTwoHiccupsFarApartAreNotAFault(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 100, 70))
	assert.Equal(t, outcomeCounted, g.answer(hostA, 400.001, 70), "the first is older than confirm_window")
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 700.001, 70), "exactly confirm_window old still counts")
}

func TestWorkersCountAloneAndBlockTogether(t *testing.T) {
	g := newGateway(t, 3, defaults())
	for worker := range 3 {
		require.Equal(t, outcomeCounted, g.answerTo(worker, hostA, 70, 70), "a burst is one sample in each worker")
	}
	require.False(t, g.blocked(0, hostA, 70))
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70))
	for worker := range 3 {
		assert.True(t, g.blocked(worker, hostA, 75), "worker %d", worker)
	}
}

func TestWorkersWithEvidenceOfTheSameFaultAddOneStrike(t *testing.T) {
	g := newGateway(t, 2, defaults())
	for worker := range 2 {
		require.Equal(t, outcomeCounted, g.answerTo(worker, hostA, 70, 70))
	}
	require.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 75, 70))
	assert.Equal(t, outcomeStale, g.answerTo(1, hostA, 75.001, 70))
	assert.Zero(t, g.countOfA(1), "what worker 1 had counted is evidence of the old fault")
	e := g.entryOfA(76)
	assert.Equal(t, 1, e.Strikes)
	assert.Equal(t, at(120), e.Until)
}

// The same, with both workers between get and set.
func TestTheStartTimeIsCheckedAgainInsideTheCASLoop(t *testing.T) {
	g := newGateway(t, 2, defaults())
	for worker := range 2 {
		require.Equal(t, outcomeCounted, g.answerTo(worker, hostA, 70, 70))
	}
	g.memory.beforeSet = func() { require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70)) }
	v, err := g.observe(0, hostA, 75.001, 70)
	require.NoError(t, err)
	assert.Equal(t, outcomeStale, v.outcome)
	assert.Equal(t, 1, v.conflicts)
	e := g.entryOfA(76)
	assert.Equal(t, entry{
		Cluster: cluster, Endpoint: hostA, Since: at(75), Until: at(120), Strikes: 1, Reason: reasonHeaders,
	}, e)
}

// Its thread may have stood still between the clock and the store, so that its block is old
// when it is written.
func TestWhatIsYoungerThanAnotherWorkersBlockIsKept(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 75, 70))
	g.memory.beforeSet = func() { g.memory.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 7, 52)}, nil).encode()) }
	v, err := g.observe(0, hostA, 80, 70)
	require.NoError(t, err)
	require.Equal(t, verdict{outcome: outcomeStale, conflicts: 1}, v, "one of the two has started before 7")
	require.Equal(t, 1, g.countOfA(0))
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 85, 70))
}

func TestRequestsThatStartedBeforeABlockNeverCountAgain(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	require.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70))
	assert.Equal(t, outcomeStale, g.answer(hostA, 100, 70), "ends during the block")
	assert.Equal(t, outcomeStale, g.answer(hostA, 140, 70), "ends after it")
	assert.Equal(t, outcomeStale, g.answer(hostA, 144.999, 70), "started just before since")
	assert.Equal(t, outcomeCounted, g.answer(hostA, 145, 70), "started at since")
	assert.Equal(t, at(120), g.entryOfA(145).Until)
}

func TestABlockIsExtendedByRequestsThatStartedInIt(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"slow_threshold": "10s", "block_ttl": "60s"}`))
	require.Equal(t, outcomeCounted, g.answer(hostA, 10, 10))
	require.Equal(t, outcomeBlocked, g.answer(hostA, 15, 10))
	require.Equal(t, outcomeCounted, g.answer(hostA, 30, 12))
	inFlight := sample{started: at(23), reached: at(35)}
	v, err := g.workers[0].observe(g.rule, cluster, hostA, inFlight, reasonInFlight, at(35))
	require.NoError(t, err)
	require.Equal(t, outcomeExtended, v.outcome)
	e := g.entryOfA(35)
	assert.Equal(t, at(15), e.Since, "since does not move")
	assert.Equal(t, 1, e.Strikes, "nor do strikes")
	assert.Equal(t, reasonHeaders, e.Reason)
	assert.Equal(t, at(95), e.Until)
	assert.Zero(t, g.countOfA(0))
}

func TestStrikesDoNotOverflow(t *testing.T) {
	known := blockOf(hostA, 0, 45)
	known.Strikes = mostStrikes
	g := newGateway(t, 1, defaults())
	again := g.workers[0].next(g.rule, known, entry{Cluster: cluster, Endpoint: hostA}, at(50))
	assert.Equal(t, mostStrikes, again.entry.Strikes)
	assert.True(t, again.entry.valid(at(50)))
}

func TestAReplacedConfigurationBlocksForNoLongerThanItsSuccessor(t *testing.T) {
	limit := time.Hour
	b := newBreaker(newBlockStore(newMemory(), func(error) {}), time.Second, &limit, noJitter)
	r := configured(t, `{"confirm_count": 1, "block_ttl": "10m"}`)
	limit = 30 * time.Second
	v, err := b.observe(r, cluster, hostA, sample{started: at(0), reached: at(70)}, reasonHeaders, at(70))
	require.NoError(t, err)
	assert.Equal(t, at(100), v.entry.Until)
}

func TestStrikesAreRememberedForTenMinutes(t *testing.T) {
	for _, test := range []struct {
		name    string
		secondT float64
		strikes int
	}{
		{"exactly ten minutes after until", 120 + 600, 2},
		{"later", 120 + 600.001, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGateway(t, 1, defaults())
			require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
			require.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70))
			require.Equal(t, outcomeCounted, g.answer(hostA, test.secondT-5, 70))
			require.Equal(t, outcomeBlocked, g.answer(hostA, test.secondT, 70))
			e := g.entryOfA(test.secondT)
			assert.Equal(t, test.strikes, e.Strikes)
		})
	}
}

func TestCountsBelongToARuleAndBlocksToTheCluster(t *testing.T) {
	g := newGateway(t, 1, defaults())
	other := defaults()
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	s := sample{started: at(5), reached: at(75)}
	v, err := g.workers[0].observe(other, cluster, hostA, s, reasonHeaders, at(75))
	require.NoError(t, err)
	assert.Equal(t, outcomeCounted, v.outcome, "another rule counts for itself")
	require.Equal(t, outcomeBlocked, g.answer(hostA, 76, 70))
	e := g.entryOfA(76)
	assert.True(t, e.blocks(at(76)))
	assert.Len(t, g.blocklist(0, 76).entries, 1, "no other cluster has heard of it")
}

func TestObservedAndEnforcedBlocksDoNotTouchEachOther(t *testing.T) {
	g := newGateway(t, 1, defaults())
	observer := configured(t, `{"mode": "observe"}`)
	observe := func(end float64) outcome {
		s := sample{started: at(end - 70), reached: at(end)}
		v, err := g.workers[0].observe(observer, cluster, hostA, s, reasonInFlight, at(end))
		require.NoError(t, err)
		return v.outcome
	}
	require.Equal(t, outcomeCounted, observe(70))
	require.Equal(t, outcomeBlocked, observe(75))
	list := g.blocklist(0, 75)
	assert.True(t, list.blocksAny(true, at(75)))
	assert.False(t, list.blocksAny(false, at(75)), "an observed block steers nothing")

	require.Equal(t, outcomeCounted, g.answer(hostA, 76, 70), "nor does it void the evidence of a rule that enforces")
	require.Equal(t, outcomeBlocked, g.answer(hostA, 81, 70))
	enforced, _ := g.blocklist(0, 81).find(cluster, hostA, false)
	assert.Equal(t, 1, enforced.Strikes)
	assert.Equal(t, at(81), enforced.Since)
	seen, _ := g.blocklist(0, 81).find(cluster, hostA, true)
	assert.Equal(t, at(75), seen.Since)
	assert.Equal(t, at(120), seen.Until)
	assert.Equal(t, reasonInFlight, seen.Reason)
}

func TestAnUnreadableBlocklistKeepsTheEvidence(t *testing.T) {
	g := newGateway(t, 1, defaults())
	g.memory.failGet = errHost
	_, err := g.observe(0, hostA, 70, 70)
	require.ErrorIs(t, err, errHost)
	_, err = g.observe(0, hostA, 75, 70)
	require.ErrorIs(t, err, errHost)
	g.memory.failGet = nil
	require.Equal(t, outcomeBlocked, g.answer(hostA, 80, 70))
}

func TestABlocklistThatCouldNotBeReadIsNotWrittenEither(t *testing.T) {
	g := newGateway(t, 1, configured(t, `{"confirm_count": 1}`))
	g.memory.failGet, g.memory.failOnce = errHost, true
	v, err := g.observe(0, hostA, 70, 70)
	require.ErrorIs(t, err, errHost)
	assert.Equal(t, outcomeCounted, v.outcome)
}

func TestAFailedWriteKeepsTheEvidence(t *testing.T) {
	g := newGateway(t, 1, defaults())
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	g.memory.failSet = errHost
	v, err := g.observe(0, hostA, 75, 70)
	require.ErrorIs(t, err, errHost)
	assert.Equal(t, outcomeCounted, v.outcome)
	g.memory.failSet = nil
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 80, 70))
}

func TestEndpointsThatAreNotSeenForTenMinutesAreForgotten(t *testing.T) {
	g := newGateway(t, 1, defaults())
	for i := range 1000 {
		g.answer(string(rune('a'+i%26))+time.Duration(i).String(), 100, 70)
	}
	require.Len(t, g.workers[0].ledger.byEndpoint, 1000)
	g.answer(hostA, 700, 70)
	assert.Len(t, g.workers[0].ledger.byEndpoint, 1001, "exactly ten minutes")
	g.answer(hostA, 700.001+60, 70)
	assert.Len(t, g.workers[0].ledger.byEndpoint, 1, "only the one that was seen")
}

// An entry outlives its block by ten minutes, or by the longest threshold: until then `since`
// says which requests are too old.
func TestAnEntryIsRememberedForTheLongestThreshold(t *testing.T) {
	for _, test := range []struct {
		threshold string
		minutes   float64 // between the end of A's block and the next write
		known     bool
	}{
		{"70s", 10, true},
		{"70s", 11, false},
		{"30m", 30, true},
		{"30m", 31, false},
	} {
		g := newGateway(t, 1, configured(t, `{"confirm_count": 1, "slow_threshold": "`+test.threshold+`"}`))
		require.Equal(t, outcomeBlocked, g.answer(hostA, 3600, 3600))
		end := 3600 + 45 + test.minutes*60
		require.Equal(t, outcomeBlocked, g.answer(hostB, end, 3600))
		_, known := g.blocklist(0, end).find(cluster, hostA, false)
		assert.Equal(t, test.known, known, "%s, %g minutes", test.threshold, test.minutes)
	}
}

// A probe is a request of an endpoint whose block is over (`return: probation`).

func (g *gateway) lateProbe(worker int, end float64) (verdict, error) {
	s := sample{started: at(end - 70), reached: at(end), probe: true}
	return g.workers[worker].observe(g.rule, cluster, hostA, s, reasonHeaders, at(end))
}

func TestOneLateProbeBlocksAgainAtOnce(t *testing.T) {
	for name, configuration := range map[string]string{
		"the defaults":               `{}`,
		"whatever the confirm_count": `{"confirm_count":20}`,
		"whatever the window":        `{"dedup_window":"10m","confirm_window":"10m"}`,
		"whatever the share":         `{"min_slow_percent":100,"min_slow_requests":10000}`,
		"with shared evidence":       `{"evidence":"shared","confirm_count":20,"min_slow_percent":100}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, 1, configured(t, configuration))
			g.memory.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil).encode())
			require.Equal(t, outcomeCounted, g.answer(hostA, 140, 70), "one that was no probe")
			v, err := g.lateProbe(0, 141)
			require.NoError(t, err)
			assert.Equal(t, outcomeBlocked, v.outcome)
			assert.Equal(t, 2, g.entryOfA(141).Strikes)
			assert.Equal(t, at(186), g.entryOfA(141).Until)
			assert.Zero(t, g.countOfA(0))
			assert.Empty(t, g.countedOfA(141))
		})
	}
}

func TestAProbeOfAnEndpointThatWasBlockedMeanwhileIsStale(t *testing.T) {
	for _, evidence := range []string{"worker", "shared"} {
		t.Run(evidence, func(t *testing.T) {
			probed := func() *gateway {
				g := newGateway(t, 2, configured(t, `{"evidence":"`+evidence+`"}`))
				g.memory.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil).encode())
				return g
			}
			g := probed()
			_, err := g.lateProbe(1, 140)
			require.NoError(t, err)
			v, err := g.lateProbe(0, 141)
			require.NoError(t, err)
			assert.Equal(t, outcomeStale, v.outcome)
			assert.Equal(t, 2, g.entryOfA(141).Strikes)

			g = probed()
			require.Equal(t, outcomeCounted, g.answer(hostA, 130, 70))
			g.memory.beforeSet = func() { _, err = g.lateProbe(1, 140) }
			v, raceErr := g.lateProbe(0, 141)
			require.NoError(t, err)
			require.NoError(t, raceErr)
			assert.Equal(t, verdict{outcome: outcomeStale, conflicts: 1}, v, "the same between get and set")
			assert.Equal(t, 2, g.entryOfA(141).Strikes)
		})
	}
}

func TestAProbeWhoseBlockCouldNotBeWrittenIsEnoughForTheNextSample(t *testing.T) {
	for _, evidence := range []string{"worker", "shared"} {
		t.Run(evidence, func(t *testing.T) {
			g := newGateway(t, 1, configured(t, `{"confirm_count":20,"evidence":"`+evidence+`"}`))
			g.memory.failSet = errHost
			v, err := g.lateProbe(0, 70)
			require.ErrorIs(t, err, errHost)
			require.Equal(t, outcomeCounted, v.outcome)
			g.memory.failSet = nil
			assert.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70))
			require.Equal(t, outcomeCounted, g.answer(hostA, 145, 70), "it is used up")
		})
	}
}
