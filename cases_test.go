package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Cases from public bug reports of similar systems, by number, as far as the algorithm alone
// can show them; the others run the shipped binary (shipped/cases_test.go). All of them have
// three confirmations, and samples are taken when the answer is there.

func caseRule(t *testing.T, more string) *rule {
	t.Helper()
	return configured(t, `{"confirm_count": 3, "check_interval": "0s"`+more+`}`)
}

// B02: requests that began before the breaker opened finish during and after the block and
// trip it again. (Polly 217, Hystrix 1350)
func TestCaseB02OldRequestsDoNotBlockARecoveredEndpoint(t *testing.T) {
	g := newGateway(t, 1, caseRule(t, ""))
	for start := 0.0; start <= 50; start += 5 {
		g.answer(hostA, start+80, 80)
	}
	assert.Equal(t, at(135), g.entryOfA(130).Until, "blocked at 90, and not moved since")
	assert.False(t, g.blocked(0, hostA, 135))
	assert.Zero(t, g.countOfA(0))
}

// B05: counts never expire, so failures days apart add up. (vertx-circuit-breaker 24)
func TestCaseB05CountsExpire(t *testing.T) {
	g := newGateway(t, 1, caseRule(t, ""))
	for _, end := range []float64{0, 250, 500} {
		require.Equal(t, outcomeCounted, g.answer(hostA, end, 75), "never three inside 300 s")
	}
	g = newGateway(t, 1, caseRule(t, ""))
	g.answer(hostA, 0, 75)
	g.answer(hostA, 150, 75)
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 290, 75))
}

// B08: the first mismatch is taken for an error, or the update is lost. (higress 3947)
func TestCaseB08AMismatchIsRetriedAndABlockStoredOnce(t *testing.T) {
	for mismatches := 1; mismatches <= maxCASRetries; mismatches++ {
		t.Run(fmt.Sprint(mismatches), func(t *testing.T) {
			g := newGateway(t, 1, caseRule(t, ""))
			g.answer(hostA, 80, 75)
			g.answer(hostA, 85, 75)
			otherWorkerWrites(g, mismatches)
			v, err := g.observe(0, hostA, 90, 75)
			require.NoError(t, err)
			assert.Equal(t, outcomeBlocked, v.outcome)
			assert.Equal(t, mismatches, v.conflicts)
			assert.Equal(t, at(135), g.entryOfA(90).Until)
			assert.Len(t, g.blocklist(0, 90).entries, 2, "stored once, beside the other worker's")
		})
	}
}

func TestCaseB08GivingUpKeepsTheEvidence(t *testing.T) {
	g := newGateway(t, 1, caseRule(t, ""))
	g.answer(hostA, 80, 75)
	g.answer(hostA, 85, 75)
	otherWorkerWrites(g, 1000)
	v, err := g.observe(0, hostA, 90, 75)
	require.ErrorIs(t, err, errCASGiveUp)
	assert.Equal(t, outcomeCounted, v.outcome)
	assert.Equal(t, maxCASRetries+1, v.conflicts)
	assert.Equal(t, 3, g.countOfA(0))
	g.memory.beforeSet = nil
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 95, 75), "the next counted sample writes the block")
}

// otherWorkerWrites puts another worker's write between the get and the set of the next n
// attempts.
func otherWorkerWrites(g *gateway, n int) {
	g.memory.beforeSet = func() {
		g.memory.put(blocklistKey, newBlocklist([]entry{blockOf(hostC, 0, 500)}, nil).encode())
		if n > 1 {
			otherWorkerWrites(g, n-1)
		}
	}
}

func TestCaseB08SixteenWorkersBlockAnotherEndpointEach(t *testing.T) {
	g := newGateway(t, 16, configured(t, `{"confirm_count": 1}`))
	endpoint := func(worker int) string { return fmt.Sprintf("10.0.1.%d:8000", worker) }
	var between func(worker int) func()
	between = func(worker int) func() { // each one's get is followed by all later ones' sets
		return func() {
			if worker < 16 {
				g.memory.beforeSet = between(worker + 1)
				require.Equal(t, outcomeBlocked, g.answerTo(worker, endpoint(worker), 90, 75))
			}
		}
	}
	between(0)()
	list := g.blocklist(0, 90)
	assert.Len(t, list.entries, 16)
	for worker := range 16 {
		assert.True(t, g.blocked(worker, endpoint(worker), 90))
	}
}

// B10: a host list that is rebuilt lets a blocked host back in. (istio 8673)
func TestCaseB10BlocksDoNotDependOnTheHostList(t *testing.T) {
	r := caseRule(t, "")
	g := newGateway(t, 1, r)
	for _, end := range []float64{80, 85, 90} {
		g.answer(hostA, end, 75)
	}
	const hostD = "10.0.0.4:8000"
	s := newTestSelector()
	for _, step := range []struct {
		second float64
		hosts  []string
		used   []string
	}{
		{90, []string{hostA, hostB, hostC}, []string{hostB, hostC}},
		{100, []string{hostA, hostB, hostC, hostD}, []string{hostB, hostC, hostD}},
		{105, []string{hostD, hostC, hostB, hostA}, []string{hostB, hostC, hostD}},
		{112, []string{hostA, hostD, hostC, hostB}, []string{hostB, hostC, hostD}},
		{134.999, []string{hostA, hostD, hostC, hostB}, []string{hostB, hostC, hostD}},
	} {
		var hosts []host
		for _, address := range step.hosts {
			hosts = append(hosts, host{address, true})
		}
		used := map[string]bool{}
		for range 10 {
			used[s.choose(r, cluster, hosts, g.blocklist(0, step.second), at(step.second)).address] = true
		}
		for _, address := range step.hosts {
			assert.Equal(t, address != hostA, used[address], "%s at %g", address, step.second)
		}
	}
	without := []host{{hostB, true}, {hostC, true}}
	assert.Equal(t, choice{}, s.choose(r, cluster, without, g.blocklist(0, 110), at(110)), "A is gone: nothing to avoid")
	assert.Equal(t, choice{}, s.choose(r, cluster, healthyHosts(3), g.blocklist(0, 135), at(135)), "free again")
}

// B12: repeated evidence does not move the deadline, or shortens it. (LiteLLM 40130, envoy 26758)
func TestCaseB12RepeatedEvidenceExtendsTheBlock(t *testing.T) {
	block := func(more string) *gateway {
		g := newGateway(t, 1, caseRule(t, more))
		for _, end := range []float64{80, 85, 90} {
			g.answer(hostA, end, 75)
		}
		return g
	}
	g := block(`, "block_ttl": "120s"`)
	assert.Equal(t, outcomeCounted, g.answer(hostA, 170, 75))
	assert.Equal(t, outcomeCounted, g.answer(hostA, 175, 75))
	assert.Equal(t, at(210), g.entryOfA(175).Until, "two are not enough")
	assert.Equal(t, outcomeExtended, g.answer(hostA, 180, 75))
	assert.Equal(t, at(300), g.entryOfA(180).Until)

	g = block("")
	g.answer(hostA, 170, 75)
	g.answer(hostA, 175, 75)
	assert.False(t, g.blocked(0, hostA, 175), "free since 135")
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 180, 75))
	assert.Equal(t, at(225), g.entryOfA(180).Until)
}

func TestCaseB12ALateWriterWithAnOlderClockShortensNothing(t *testing.T) {
	known := blockOf(hostA, 90, 210)
	g := newGateway(t, 1, caseRule(t, ""))
	late := g.workers[0].next(g.rule, known, entry{Cluster: cluster, Endpoint: hostA}, at(75))
	assert.Equal(t, outcomeExtended, late.outcome)
	assert.Equal(t, at(210), late.entry.Until, "120 would be shorter")
}

// B13: the counter is compared for equality, jumped over, and the host is never ejected again.
// (envoy 18950)
func TestCaseB13ACountBeyondTheLimitStillBlocks(t *testing.T) {
	g := newGateway(t, 1, caseRule(t, ""))
	g.memory.failSet = errHost
	for i := range 7 {
		_, _ = g.observe(0, hostA, 80+float64(i)*5, 75)
	}
	require.Equal(t, 7, g.countOfA(0))
	g.memory.failSet = nil
	assert.Equal(t, outcomeBlocked, g.answer(hostA, 120, 75))
	assert.Zero(t, g.countOfA(0))
}

func TestCaseB13TheCountIsBounded(t *testing.T) {
	g := newGateway(t, 1, caseRule(t, `, "dedup_window": "0s"`))
	g.memory.failSet = errHost
	for i := range 50 {
		_, _ = g.observe(0, hostA, 80+float64(i), 75)
	}
	assert.Equal(t, maxConfirmCount, g.countOfA(0))
}

// B14: ">" instead of ">=" makes a limit unreachable. (Sentinel 1769)
func TestCaseB14ALimitThatIsReachedCounts(t *testing.T) {
	r := caseRule(t, "")
	assert.False(t, sent(r).lateAnswer(false, false, at(69.999)))
	assert.True(t, sent(r).lateAnswer(false, false, at(70)))

	g := newGateway(t, 1, r)
	g.answer(hostA, 80, 75)
	g.answer(hostA, 84.999, 75)
	require.Equal(t, 1, g.countOfA(0))
	g.answer(hostA, 85, 75)
	require.Equal(t, 2, g.countOfA(0))
	require.Equal(t, outcomeBlocked, g.answer(hostA, 90, 75))
	assert.True(t, g.blocked(0, hostA, 134.999))
	assert.False(t, g.blocked(0, hostA, 135))
}

// B19: addresses are cut at the wrong colon. (apisix 13666)
func TestCaseB19AnAddressIsAnOpaqueString(t *testing.T) {
	const one, other = "[fd00::1]:8000", "[fd00::1]:8001"
	r := caseRule(t, "")
	g := newGateway(t, 1, r)
	for _, end := range []float64{80, 85, 90} {
		g.answer(one, end, 75)
	}
	hosts := []host{{one, true}, {other, true}}
	assert.Equal(t, map[string]int{other: 20}, spreadAt(g, r, hosts, 90))
}

func spreadAt(g *gateway, r *rule, hosts []host, second float64) map[string]int {
	s, chosen := newTestSelector(), map[string]int{}
	for range 20 {
		chosen[s.choose(r, cluster, hosts, g.blocklist(0, second), at(second)).address]++
	}
	return chosen
}
