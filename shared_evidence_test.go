package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `evidence: shared`, told by the defaults: what a worker has counted is merged in SharedData,
// where the same windows hold for all of them together.

func sharing(t *testing.T, more string) *rule {
	t.Helper()
	return configured(t, `{"evidence":"shared"`+more+`}`)
}

// countedOfA returns the samples against A that stand in SharedData under the gateway's rule.
func (g *gateway) countedOfA(second float64) []sharedSample {
	g.t.Helper()
	for _, e := range g.blocklist(0, second).evidence {
		if e.about(cluster, hostA, g.rule.id) {
			return e.Counted
		}
	}
	return nil
}

func TestABurstOverAllWorkersIsOneSample(t *testing.T) {
	g := newGateway(t, 4, sharing(t, ""))
	outcomes := map[outcome]int{}
	for i := range 40 {
		outcomes[g.answerTo(i%4, hostA, 70+float64(i)*0.1, 70)]++
	}
	assert.Equal(t, map[outcome]int{outcomeCounted: 1, outcomeDeduplicated: 39}, outcomes)
	assert.Equal(t, []sharedSample{{Started: at(0), Reached: at(70)}}, g.countedOfA(74))
	assert.False(t, g.blocked(0, hostA, 74))
}

func TestWorkersWithOneSampleEachConfirmTogether(t *testing.T) {
	g := newGateway(t, 3, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Zero(t, g.countOfA(0), "it stands in SharedData now")
	require.Equal(t, outcomeDeduplicated, g.answerTo(1, hostA, 74.999, 70))
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70))
	for worker := range 3 {
		assert.True(t, g.blocked(worker, hostA, 75), "worker %d", worker)
	}
	assert.Equal(t, entry{
		Cluster: cluster, Endpoint: hostA, Since: at(75), Until: at(120), Strikes: 1, Reason: reasonHeaders,
	}, g.entryOfA(75))
}

func TestWhatTheCommonWindowSwallowsOpensNone(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeDeduplicated, g.answerTo(1, hostA, 74, 70))
	assert.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70), "its own window would be open until 79")
}

func TestTheWorkersOwnWindowSparesTheWrite(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	written := g.memory.sets
	for i := range 40 {
		require.Equal(t, outcomeDeduplicated, g.answerTo(i%2, hostA, 70.1+float64(i)*0.1, 70))
	}
	assert.Equal(t, written, g.memory.sets)
}

func TestTheConfirmWindowHoldsForAllWorkersTogether(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 100, 70))
	require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 400.001, 70), "the first is older than confirm_window")
	assert.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 700.001, 70), "exactly confirm_window old still counts")
}

func TestWithoutAWindowEverySampleOfEveryWorkerCounts(t *testing.T) {
	g := newGateway(t, 3, sharing(t, `,"dedup_window":"0s","confirm_count":4`))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 80, 70))
	require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 79, 70), "its tick was late")
	require.Equal(t, outcomeCounted, g.answerTo(2, hostA, 80, 70))
	assert.Len(t, g.countedOfA(80), 3)
	assert.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 80, 70))
	assert.Empty(t, g.damage, "each of them was believed")
}

func TestSharedEvidenceOfOneEndpointIsNotThatOfAnother(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeCounted, g.answerTo(1, hostB, 75, 70))
	s := sample{started: at(10), reached: at(80)}
	v, err := g.workers[1].observe(g.rule, "outbound|443||other.dns", hostA, s, reasonHeaders, at(80))
	require.NoError(t, err)
	assert.Equal(t, outcomeCounted, v.outcome, "the same address in another cluster")
	assert.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 80, 70))
}

func TestOldRequestsNeverCountInSharedDataEither(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70))
	for worker := range 2 {
		assert.Equal(t, outcomeStale, g.answerTo(worker, hostA, 100, 70), "ends during the block")
		assert.Equal(t, outcomeStale, g.answerTo(worker, hostA, 140, 70), "ends after it")
		assert.Equal(t, outcomeStale, g.answerTo(worker, hostA, 144.999, 70), "started just before since")
	}
	assert.Empty(t, g.countedOfA(145))
	assert.Equal(t, outcomeCounted, g.answerTo(0, hostA, 145, 70), "started at since")
	assert.Equal(t, []sharedSample{{Started: at(75), Reached: at(145)}}, g.countedOfA(145))
}

// Blocks are common to all rules: the block of one voids what was counted under another.
func TestABlockOfAnotherRuleVoidsWhatWasSharedBefore(t *testing.T) {
	g := newGateway(t, 2, sharing(t, `,"confirm_count":3`))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 75, 70))
	hasty := configured(t, `{"confirm_count":1,"block_ttl":"1s"}`)
	v, err := g.workers[0].observe(hasty, cluster, hostA, sample{started: at(6), reached: at(76)}, reasonHeaders, at(76))
	require.NoError(t, err)
	require.Equal(t, outcomeBlocked, v.outcome)
	assert.Equal(t, outcomeCounted, g.answerTo(1, hostA, 146, 70))
	assert.Len(t, g.countedOfA(146), 1, "only the one that is younger than the block")
}

func TestTheStartTimeIsCheckedAgainInsideTheCASLoopOfAMerge(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	g.memory.beforeSet = func() { require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70)) }
	v, err := g.observe(0, hostA, 75, 70)
	require.NoError(t, err)
	assert.Equal(t, verdict{outcome: outcomeStale, conflicts: 1}, v)
	assert.Equal(t, 1, g.entryOfA(76).Strikes)
	assert.Equal(t, at(120), g.entryOfA(76).Until)
	assert.Zero(t, g.countOfA(0))
}

func TestEvidenceSurvivesALostRace(t *testing.T) {
	g := newGateway(t, 2, sharing(t, ""))
	g.memory.beforeSet = func() { require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 70, 70)) }
	v, err := g.observe(0, hostA, 75, 70)
	require.NoError(t, err)
	assert.Equal(t, outcomeBlocked, v.outcome, "both count")
	assert.Equal(t, 1, v.conflicts)

	g = newGateway(t, 2, sharing(t, ""))
	g.memory.beforeSet = func() { require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 75, 70)) }
	v, err = g.observe(0, hostA, 75.5, 70)
	require.NoError(t, err)
	assert.Equal(t, verdict{outcome: outcomeDeduplicated, conflicts: 1}, v, "the window is looked at again, too")
	assert.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 80, 70))
}

func TestGivingUpKeepsTheEvidenceForTheNextMerge(t *testing.T) {
	g := newGateway(t, 1, sharing(t, ""))
	otherWorkerWrites(g, 1000)
	v, err := g.observe(0, hostA, 70, 70)
	require.ErrorIs(t, err, errCASGiveUp)
	assert.Equal(t, verdict{outcome: outcomeCounted, conflicts: maxCASRetries + 1}, v)
	require.Equal(t, 1, g.countOfA(0))
	g.memory.beforeSet = nil
	assert.Equal(t, outcomeDeduplicated, g.answer(hostA, 74, 70), "it has opened the worker's window")
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 75, 70))
}

func TestWhatCouldNotBeMergedIsMergedLater(t *testing.T) {
	for name, fail := range map[string]func(*memory){
		"the read fails":  func(m *memory) { m.failGet = errHost },
		"the write fails": func(m *memory) { m.failSet = errHost },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, 2, sharing(t, `,"confirm_count":3`))
			require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 70, 70))
			fail(g.memory)
			v, err := g.observe(0, hostA, 75, 70)
			require.ErrorIs(t, err, errHost)
			require.Equal(t, outcomeCounted, v.outcome)
			g.memory.failGet, g.memory.failSet = nil, nil
			require.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 80, 70))
		})
	}
}

func TestOfWhatIsMergedLateTheCommonWindowTakesItsOwn(t *testing.T) {
	g := newGateway(t, 2, sharing(t, `,"confirm_count":4`))
	g.memory.failSet = errHost
	for _, end := range []float64{70, 80} {
		_, err := g.observe(0, hostA, end, 70)
		require.ErrorIs(t, err, errHost)
	}
	g.memory.failSet = nil
	require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 76, 70))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 85, 70))
	assert.Equal(t, []sharedSample{
		{Started: at(6), Reached: at(76)}, {Started: at(15), Reached: at(85)},
	}, g.countedOfA(85), "70 is before the window of 76, 80 within it")
}

func TestTheCommonCountRestartsWithABlock(t *testing.T) {
	g := newGateway(t, 3, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70))
	assert.Empty(t, g.countedOfA(75))
	require.Equal(t, outcomeCounted, g.answerTo(2, hostA, 150, 70))
	require.Equal(t, outcomeBlocked, g.answerTo(0, hostA, 155, 70))
	assert.Equal(t, 2, g.entryOfA(155).Strikes)
}

func TestWorkersExtendABlockTogether(t *testing.T) {
	g := newGateway(t, 2, sharing(t, `,"slow_threshold":"10s","block_ttl":"60s"`))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 10, 10))
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 15, 10))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 30, 12))
	require.Equal(t, outcomeExtended, g.answerTo(1, hostA, 35, 12))
	e := g.entryOfA(35)
	assert.Equal(t, at(15), e.Since)
	assert.Equal(t, 1, e.Strikes)
	assert.Equal(t, at(95), e.Until)
	assert.Equal(t, outcomeCounted, g.answerTo(0, hostA, 40, 12), "the count has restarted")
}

func TestTheSameRuleOfTheNextConfigurationKeepsTheEvidence(t *testing.T) {
	g := newGateway(t, 1, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	for name, c := range map[string]struct {
		rule *rule
		want outcome
	}{
		"the same":          {sharing(t, ``), outcomeBlocked},
		"a default spelled": {sharing(t, `,"mode":"enforce"`), outcomeBlocked},
		"another threshold": {sharing(t, `,"slow_threshold":"60s"`), outcomeCounted},
		"it observes":       {sharing(t, `,"mode":"observe"`), outcomeCounted},
	} {
		t.Run(name, func(t *testing.T) {
			next := newGateway(t, 1, c.rule)
			next.memory.put(blocklistKey, g.memory.values[blocklistKey])
			assert.Equal(t, c.want, next.answer(hostA, 75, 70))
		})
	}
}

func TestRulesThatObserveShareTheirEvidenceAmongThemselves(t *testing.T) {
	g := newGateway(t, 2, sharing(t, `,"mode":"observe"`))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 75, 70))
	assert.True(t, g.entryOfA(75).Observed)
	assert.False(t, g.blocklist(0, 75).blocksAny(false, at(75)))
}

func TestAnotherWorkersAnswersDoNotReachTheShareOfThisOne(t *testing.T) {
	g := newGateway(t, 2, sharing(t, `,"min_slow_percent":50,"min_slow_requests":2`))
	for second := range 9 {
		g.inTime(0, hostA, 60+float64(second))
	}
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 70, 70))
	require.Equal(t, outcomeCounted, g.answerTo(0, hostA, 75, 70), "two of eleven")
	require.Equal(t, outcomeCounted, g.answerTo(1, hostA, 80, 70), "one alone is too few")
	require.Len(t, g.countedOfA(80), 3, "they wait for the share")
	require.Equal(t, outcomeBlocked, g.answerTo(1, hostA, 85, 70), "two of two")
}

func TestSharedEvidenceIsForgottenAfterTenMinutes(t *testing.T) {
	a, b := &evidence{lastCounted: at(100)}, &evidence{lastCounted: at(700)}
	list := newBlocklist(nil, nil).withEvidence(cluster, hostA, "r", a, at(100))
	require.Len(t, list.evidence, 1)
	assert.Len(t, list.withEvidence(cluster, hostB, "r", b, at(700)).evidence, 2, "exactly ten minutes")
	assert.Len(t, list.withEvidence(cluster, hostB, "r", b, at(700.001)).evidence, 1)
	assert.Len(t, list.with(blockOf(hostB, 700, 745), at(700), rememberExpired).evidence, 1)
	assert.Empty(t, list.with(blockOf(hostB, 700.001, 745), at(700.001), rememberExpired).evidence, "a block is a write, too")
	assert.Len(t, list.evidence, 1, "the list itself never changes")
}

func TestSharedEvidenceIsBoundedAndTheOldestMakesRoom(t *testing.T) {
	list := newBlocklist([]entry{blockOf(hostC, 0, 45)}, nil)
	endpoint := func(i int) string { return fmt.Sprintf("10.0.%d.%d:8000", i/256, i%256) }
	for i := range mostEvidence + 2 {
		list = list.withEvidence(cluster, endpoint(i), "r", &evidence{lastCounted: at(float64(i) / 10)}, at(100))
	}
	require.Len(t, list.evidence, mostEvidence)
	for _, i := range []int{0, 1} {
		assert.Equal(t, unknown, list.evidenceOf(cluster, endpoint(i), "r").lastCounted, "%d was there first", i)
	}
	assert.Equal(t, at(0.2), list.evidenceOf(cluster, endpoint(2), "r").lastCounted)
	assert.Len(t, list.entries, 1, "blocks do not count")

	again := list.withEvidence(cluster, endpoint(2), "r", &evidence{lastCounted: at(100)}, at(100))
	assert.Len(t, again.evidence, mostEvidence)
	assert.Equal(t, at(0.3), again.evidenceOf(cluster, endpoint(3), "r").lastCounted, "what is replaced makes room itself")

	crowd := newBlocklist(nil, append(list.evidence, again.evidence...))
	assert.Len(t, crowd.withEvidence(cluster, hostA, "r", &evidence{lastCounted: at(100)}, at(100)).evidence, mostEvidence,
		"whatever another version has stored")
}

func TestWhatIsStoredTwiceIsReplacedByOne(t *testing.T) {
	stored := evidenceAgainst(hostA)
	stored.Rule = "r"
	list := newBlocklist(nil, []sharedEvidence{stored, stored})
	assert.Len(t, list.evidenceOf(cluster, hostA, "r").counted, 1)
	assert.Len(t, list.withEvidence(cluster, hostA, "r", &evidence{lastCounted: at(9)}, at(9)).evidence, 1)
}

func TestANewConfigurationsSeedKeepsTheEvidence(t *testing.T) {
	g := newGateway(t, 1, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answer(hostA, 70, 70))
	require.Equal(t, outcomeCounted, g.answer(hostB, 70, 70))
	require.Equal(t, outcomeBlocked, g.answer(hostB, 75, 70))
	_, err := g.workers[0].store.seed(at(76), time.Second)
	require.NoError(t, err)
	assert.False(t, g.blocked(0, hostB, 78), "the block was shortened")
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 80, 70))
}

func evidenceAgainst(endpoint string) sharedEvidence {
	return sharedEvidence{
		Cluster: cluster, Endpoint: endpoint, Rule: "6b1f0e0a2c6d4f11", Last: at(6),
		Counted: []sharedSample{{Started: at(1), Reached: at(5)}},
	}
}

func TestTheStoredEvidenceIsReadable(t *testing.T) {
	list := newBlocklist(nil, []sharedEvidence{evidenceAgainst(hostA)})
	assert.JSONEq(t, `{"version":1,"blocks":[],"evidence":[{"cluster":"outbound|443||llm.dns","endpoint":"10.0.0.1:8000",`+
		`"rule":"6b1f0e0a2c6d4f11","last":1006000000000,"counted":[{"started":1001000000000,"reached":1005000000000}]}]}`,
		string(list.encode()))
}

func TestEvidenceThatMakesNoSenseIsDroppedAndAllElseKept(t *testing.T) {
	const farOff = 602 // more than ten minutes after the reader's clock
	for name, spoil := range map[string]func(*sharedEvidence){
		"no cluster":                    func(e *sharedEvidence) { e.Cluster = "" },
		"no endpoint":                   func(e *sharedEvidence) { e.Endpoint = "" },
		"no rule":                       func(e *sharedEvidence) { e.Rule = "" },
		"more samples than can be":      func(e *sharedEvidence) { e.Counted = make21(e.Counted[0]) },
		"an unknown start":              func(e *sharedEvidence) { e.Counted[0].Started = unknown },
		"reached before it started":     func(e *sharedEvidence) { e.Counted[0].Reached = at(0.999) },
		"a sample later than the last":  func(e *sharedEvidence) { e.Counted[0].Reached = at(6.001) },
		"the last in the future":        func(e *sharedEvidence) { e.Last = at(farOff) },
		"the last at the end of time":   func(e *sharedEvidence) { e.Last = math.MaxInt64 },
		"an unknown last, nothing else": func(e *sharedEvidence) { e.Last, e.Counted = unknown, nil },
	} {
		t.Run(name, func(t *testing.T) {
			bad, good, block := evidenceAgainst(hostB), evidenceAgainst(hostA), blockOf(hostC, 0, 45)
			spoil(&bad)
			list, err := decodeBlocklist(newBlocklist([]entry{block}, []sharedEvidence{bad, good}).encode(), at(1))
			require.EqualError(t, err, `blocklist: 1 of 2 entries of "evidence" make no sense`)
			assert.Equal(t, []sharedEvidence{good}, list.evidence)
			assert.Equal(t, []entry{block}, list.entries)
		})
	}
	late := evidenceAgainst(hostA)
	_, err := decodeBlocklist(newBlocklist(nil, []sharedEvidence{late}).encode(), late.Last.add(-readerLag))
	assert.NoError(t, err, "its reader's thread stood still between the clock and the store")
}

func make21(s sharedSample) []sharedSample {
	var many []sharedSample
	for range maxConfirmCount + 1 {
		many = append(many, s)
	}
	return many
}

func TestOneDamagedListLeavesTheOtherAlone(t *testing.T) {
	block, known := blockOf(hostC, 0, 45), evidenceAgainst(hostA)
	stored := encodeDocument(field{blocksField, []entry{block}}, field{evidenceField, "all"})
	list, err := decodeBlocklist(stored, at(1))
	require.ErrorContains(t, err, "not a document of version 1")
	assert.Equal(t, []entry{block}, list.entries)
	assert.Empty(t, list.evidence)

	block.Strikes = 0
	list, err = decodeBlocklist(newBlocklist([]entry{block}, []sharedEvidence{known}).encode(), at(1))
	require.EqualError(t, err, `blocklist: 1 of 1 entries of "blocks" make no sense`)
	assert.Empty(t, list.entries)
	assert.Equal(t, []sharedEvidence{known}, list.evidence)
}

func TestDamagedEvidenceIsToldAndCountingGoesOn(t *testing.T) {
	g := newGateway(t, 1, sharing(t, ""))
	require.Equal(t, outcomeCounted, g.answer(hostB, 70, 70))
	require.Equal(t, outcomeBlocked, g.answer(hostB, 75, 70))
	list := g.blocklist(0, 75)
	bad := evidenceAgainst(hostA)
	bad.Last = unknown
	g.memory.put(blocklistKey, newBlocklist(list.entries, []sharedEvidence{bad}).encode())
	require.Equal(t, outcomeCounted, g.answer(hostA, 76, 70))
	require.Len(t, g.damage, 1)
	require.Equal(t, outcomeBlocked, g.answer(hostA, 81, 70))
	assert.True(t, g.blocked(0, hostB, 81))
	assert.Len(t, g.damage, 1, "told once, and the sound list written since")
}
