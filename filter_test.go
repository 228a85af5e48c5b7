package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newTestSelector() *selector { return newSelector(rand.New(rand.NewPCG(1, 2))) }

// healthyHosts returns n hosts, the first of them hostA, hostB, hostC.
func healthyHosts(n int) []host {
	hosts := make([]host, n)
	for i := range hosts {
		hosts[i] = host{address: fmt.Sprintf("10.0.0.%d:8000", i+1), healthy: true}
	}
	return hosts
}

// blocking returns a list on which the first n hosts are blocked, each a second after the last.
func blocking(hosts []host, n int) *blocklist {
	var entries []entry
	for i := range n {
		entries = append(entries, blockOf(hosts[i].address, float64(i), 100))
	}
	return newBlocklist(entries, nil)
}

// spread counts the choices of many requests.
func spread(s *selector, r *rule, hosts []host, list *blocklist, requests int) map[string]int {
	chosen := map[string]int{}
	for range requests {
		chosen[s.choose(r, cluster, hosts, list, at(50)).address]++
	}
	return chosen
}

func TestNothingBlockedLeavesTheChoiceToEnvoy(t *testing.T) {
	assert.Equal(t, choice{}, newTestSelector().choose(defaults(), cluster, healthyHosts(3), newBlocklist(nil, nil), at(50)))
}

func TestWhatIsBlockedIsNotChosen(t *testing.T) {
	hosts := healthyHosts(3)
	chosen := spread(newTestSelector(), defaults(), hosts, blocking(hosts, 1), 100)
	assert.Equal(t, map[string]int{hostB: 50, hostC: 50}, chosen)
}

func TestAtUntilTheHostIsAHostLikeAnyOther(t *testing.T) {
	hosts := healthyHosts(3)
	list := newBlocklist([]entry{blockOf(hostA, 0, 50), blockOf(hostB, 0, 51)}, nil)
	assert.Equal(t, map[string]int{hostA: 50, hostC: 50}, spread(newTestSelector(), defaults(), hosts, list, 100))
}

func TestObservedBlocksSteerOnlyWhoObserves(t *testing.T) {
	hosts := healthyHosts(3)
	seen := blockOf(hostA, 0, 100)
	seen.Observed = true
	list := newBlocklist([]entry{seen, blockOf(hostB, 0, 100)}, nil)
	assert.Equal(t, map[string]int{hostA: 50, hostC: 50}, spread(newTestSelector(), defaults(), hosts, list, 100))
	observer := configured(t, `{"mode": "observe"}`)
	assert.Equal(t, map[string]int{hostB: 50, hostC: 50}, spread(newTestSelector(), observer, hosts, list, 100))
}

func TestUnhealthyHostsAreNeverChosen(t *testing.T) {
	hosts := healthyHosts(3)
	hosts[1].healthy = false
	chosen := spread(newTestSelector(), defaults(), hosts, blocking(hosts, 1), 10)
	assert.Equal(t, map[string]int{hostC: 10}, chosen)
}

func TestABlockThatKeepsNobodyOutSteersNothing(t *testing.T) {
	hosts := healthyHosts(3)
	gone := newBlocklist([]entry{blockOf("10.9.9.9:8000", 0, 100)}, nil)
	assert.Equal(t, choice{}, newTestSelector().choose(defaults(), cluster, hosts, gone, at(50)), "its host has left")
	hosts[0].healthy = false
	ill := blocking(hosts, 1)
	assert.Equal(t, choice{}, newTestSelector().choose(defaults(), cluster, hosts, ill, at(50)), "its host is not selectable anyway")
}

func TestAnEmptyClusterIsLeftToEnvoy(t *testing.T) {
	list := newBlocklist([]entry{blockOf(hostA, 0, 100)}, nil)
	always := configured(t, `{"override": "always"}`)
	assert.Equal(t, choice{}, newTestSelector().choose(always, cluster, nil, list, at(50)))
}

func TestBlocksOfAnotherClusterDoNotMatter(t *testing.T) {
	hosts := healthyHosts(3)
	assert.Equal(t, choice{}, newTestSelector().choose(defaults(), "outbound|443||other.dns", hosts, blocking(hosts, 2), at(50)))
}

func TestOverrideAlwaysChoosesAlsoWhenNothingIsBlocked(t *testing.T) {
	always := configured(t, `{"override": "always"}`)
	chosen := spread(newTestSelector(), always, healthyHosts(3), newBlocklist(nil, nil), 90)
	assert.Equal(t, map[string]int{hostA: 30, hostB: 30, hostC: 30}, chosen)
}

func TestTooFewCandidatesMakeItStepAside(t *testing.T) {
	for _, test := range []struct {
		hosts, blocked int
		rule           string
		want           string // override, bypass
	}{
		{1, 1, `{}`, "bypass"},
		{2, 1, `{}`, "override"},
		{2, 2, `{}`, "bypass"},
		{3, 2, `{}`, "override"},
		{3, 3, `{}`, "bypass"},
		{4, 3, `{}`, "override"},
		{5, 4, `{}`, "override"}, // one of five is exactly 20 %
		{6, 5, `{}`, "bypass"},   // one of six is less
		{10, 8, `{}`, "override"},
		{10, 9, `{}`, "bypass"},
		{6, 5, `{"min_candidates_percent": 0}`, "override"},
		{3, 3, `{"min_candidates_percent": 0}`, "bypass"},
		{3, 1, `{"min_candidates_percent": 100}`, "bypass"},
		{2, 1, `{"min_candidates_percent": 51}`, "bypass"},
		{2, 1, `{"min_candidates_percent": 50}`, "override"},
		{3, 3, `{"override": "always"}`, "bypass"},
		{3, 0, `{"override": "always", "min_candidates_percent": 100}`, "override"},
	} {
		t.Run(fmt.Sprintf("%d of %d blocked %s", test.blocked, test.hosts, test.rule), func(t *testing.T) {
			hosts := healthyHosts(test.hosts)
			got := newTestSelector().choose(configured(t, test.rule), cluster, hosts, blocking(hosts, test.blocked), at(50))
			assert.Equal(t, test.want == "bypass", got.bypass)
			assert.Equal(t, test.want == "override", got.address != "")
			assert.False(t, got.capped)
		})
	}
}

func TestUnhealthyHostsCountAmongAllHosts(t *testing.T) {
	hosts := healthyHosts(6)
	for i := 2; i < 6; i++ {
		hosts[i].healthy = false
	}
	got := newTestSelector().choose(defaults(), cluster, hosts, blocking(hosts, 1), at(50))
	assert.True(t, got.bypass, "one candidate of six would be drowned")
}

func TestTheCapDropsTheMostRecentlyBlocked(t *testing.T) {
	for _, test := range []struct {
		hosts, blocked, percent int
		dropped                 []int // indices of the hosts
		capped                  bool
	}{
		{4, 2, 50, []int{0, 1}, false},
		{4, 3, 50, []int{1, 2}, true},
		{3, 2, 50, []int{1}, true}, // 1.5 rounded down
		{3, 1, 1, []int{0}, false}, // but at least one
		{3, 2, 1, []int{1}, true},
		{5, 3, 59, []int{1, 2}, true},
		{5, 3, 60, []int{0, 1, 2}, false},
	} {
		t.Run(fmt.Sprintf("%d of %d at %d%%", test.blocked, test.hosts, test.percent), func(t *testing.T) {
			r := configured(t, fmt.Sprintf(`{"max_blocked_percent": %d}`, test.percent))
			hosts := healthyHosts(test.hosts)
			list := blocking(hosts, test.blocked)
			s := newTestSelector()
			chosen := spread(s, r, hosts, list, 60)
			for i, h := range hosts {
				assert.Equal(t, slices.Contains(test.dropped, i), chosen[h.address] == 0, h.address)
			}
			assert.Equal(t, test.capped, s.choose(r, cluster, hosts, list, at(50)).capped)
		})
	}
}

func TestRoundRobinKeepsItsPlaceWhenTheListChanges(t *testing.T) {
	s := newTestSelector()
	always := configured(t, `{"override": "always"}`)
	hosts := healthyHosts(4)
	next := func(hosts []host) string {
		return s.choose(always, cluster, hosts, newBlocklist(nil, nil), at(50)).address
	}
	for range hosts { // to a known place
		if next(hosts) == hostA {
			break
		}
	}
	assert.Equal(t, hostB, next(hosts))
	reordered := slices.Clone(hosts)
	slices.Reverse(reordered)
	assert.Equal(t, hostC, next(reordered), "the order of the list does not matter")
	assert.Equal(t, hosts[3].address, next(hosts))
	assert.Equal(t, hostB, next(hosts[1:]), "a host that leaves is passed over")
	assert.Equal(t, hostC, next(hosts))
}

func TestWorkersDoNotBeginInStep(t *testing.T) {
	always := configured(t, `{"override": "always"}`)
	first := map[string]int{}
	for worker := range uint64(64) {
		s := newSelector(rand.New(rand.NewPCG(worker, 7)))
		first[s.choose(always, cluster, healthyHosts(4), newBlocklist(nil, nil), at(50)).address]++
	}
	assert.Len(t, first, 4)
	for address, n := range first {
		assert.Greater(t, n, 4, address)
	}
}

func TestWhoObservesDoesNotMoveThePlaceOfWhoEnforces(t *testing.T) {
	s := newTestSelector()
	always := configured(t, `{"override": "always"}`)
	observer := configured(t, `{"override": "always", "mode": "observe"}`)
	chosen := map[string]int{}
	for range 30 {
		chosen[s.choose(always, cluster, healthyHosts(2), newBlocklist(nil, nil), at(50)).address]++
		s.choose(observer, cluster, healthyHosts(2), newBlocklist(nil, nil), at(50))
	}
	assert.Equal(t, map[string]int{hostA: 15, hostB: 15}, chosen)
}

func TestEachClusterHasItsOwnPlace(t *testing.T) {
	s := newTestSelector()
	always := configured(t, `{"override": "always"}`)
	for range 30 {
		s.choose(always, "outbound|443||other.dns", healthyHosts(3), newBlocklist(nil, nil), at(50))
	}
	chosen := spread(s, always, healthyHosts(3), newBlocklist(nil, nil), 30)
	assert.Equal(t, map[string]int{hostA: 10, hostB: 10, hostC: 10}, chosen)
}

func TestRandomReachesEveryCandidate(t *testing.T) {
	hosts := healthyHosts(4)
	chosen := spread(newTestSelector(), configured(t, `{"pick": "random"}`), hosts, blocking(hosts, 1), 600)
	require.Len(t, chosen, 3)
	for address, n := range chosen {
		assert.InDelta(t, 200, n, 60, address)
	}
}

func TestLeastRequestPrefersTheHostWithFewerRequestsInFlight(t *testing.T) {
	s := newTestSelector()
	r := configured(t, `{"pick": "least_request"}`)
	hosts := healthyHosts(3)
	list := blocking(hosts, 1)
	busy := []placement{s.place(cluster, hostB), s.place(cluster, hostB)}
	chosen := spread(s, r, hosts, list, 400)
	assert.InDelta(t, 100, chosen[hostB], 40, "only when both choices fall on it")
	for _, at := range busy {
		s.release(at)
	}
	assert.Empty(t, s.placed, "nothing is kept of requests that have ended")
	assert.InDelta(t, 200, spread(s, r, hosts, list, 400)[hostB], 50)
}

func TestReleasingWhatWasNeverPlacedChangesNothing(t *testing.T) {
	s := newTestSelector()
	s.release(placement{})
	assert.Empty(t, s.placed)
}

// Whatever is blocked and ill: a host that is chosen is healthy, and blocked only if the cap
// let it in; and the breaker steps aside rather than leave nobody.
func TestAChoiceIsAlwaysSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hosts := healthyHosts(rapid.IntRange(0, 12).Draw(rt, "hosts"))
		var entries []entry
		for i := range hosts {
			hosts[i].healthy = rapid.Bool().Draw(rt, "healthy")
			if rapid.Bool().Draw(rt, "blocked") {
				entries = append(entries, blockOf(hosts[i].address, float64(i), rapid.SampledFrom([]float64{50, 51}).Draw(rt, "until")))
			}
		}
		r := defaults()
		r.maxBlockedPercent = rapid.IntRange(1, 100).Draw(rt, "max_blocked_percent")
		r.minCandidatesPercent = rapid.IntRange(0, 100).Draw(rt, "min_candidates_percent")
		r.pick = rapid.SampledFrom([]pickPolicy{pickRoundRobin, pickRandom, pickLeastRequest}).Draw(rt, "pick")
		r.override = rapid.SampledFrom([]overrideWhen{overrideWhenBlocked, overrideAlways}).Draw(rt, "override")
		list := newBlocklist(entries, nil)

		got := newTestSelector().choose(r, cluster, hosts, list, at(50))
		if got.address == "" {
			return
		}
		require.False(rt, got.bypass)
		require.Contains(rt, hosts, host{got.address, true})
		if e, ok := list.find(cluster, got.address, false); ok && e.blocks(at(50)) {
			require.True(rt, got.capped)
		}
	})
}
