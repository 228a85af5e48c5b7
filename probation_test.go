package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const probationRule = `{"return":"probation"}`

// over is A after a block from 0 to 45.
func over() (*blocklist, entry) {
	e := blockOf(hostA, 0, 45)
	return newBlocklist([]entry{e}, nil), e
}

func TestOnProbationAnEndpointGetsOneRequestAtATime(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	list, e := over()
	hosts := healthyHosts(3)
	probe := s.choose(r, cluster, hosts, list, at(50))
	assert.Equal(t, choice{address: hostA, probe: e.key()}, probe)
	s.probation.begin(probe.probe)
	assert.Equal(t, map[string]int{hostB: 50, hostC: 50}, spread(s, r, hosts, list, 100), "one is on its way")
	s.probation.end(probe.probe)
	assert.Equal(t, hostA, s.choose(r, cluster, hosts, list, at(50)).address, "it ended, and told nothing")
}

func TestTheFirstAnswerInTimeEndsTheProbation(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	list, e := over()
	s.probation.pass(e.key(), e.Since, at(50))
	assert.False(t, s.concerns(r, cluster, list, at(50)))
	assert.Equal(t, choice{}, s.choose(r, cluster, healthyHosts(3), list, at(50)), "nothing to choose any more")
}

func TestTheNextBlockBringsTheNextProbation(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	_, e := over()
	s.probation.pass(e.key(), e.Since, at(50))
	e.Since, e.Until = at(60), at(105)
	list := newBlocklist([]entry{e}, nil)
	assert.Equal(t, hostA, s.choose(r, cluster, healthyHosts(3), list, at(110)).address)
}

func TestWhileTheBlockLastsThereIsNoProbe(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	list, _ := over()
	for range 10 {
		assert.NotEqual(t, hostA, s.choose(r, cluster, healthyHosts(3), list, at(44)).address)
	}
}

func TestAnEntryThatExpiresEndsTheProbation(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	list := newBlocklist(nil, nil)
	assert.False(t, s.mayConcern(r, list, at(700)))
	assert.Equal(t, choice{}, s.choose(r, cluster, healthyHosts(3), list, at(700)))
}

func TestAnEndpointOnProbationCountsAsBlockedInThePercentages(t *testing.T) {
	s, r := newTestSelector(), configured(t, `{"return":"probation","min_candidates_percent":50}`)
	list, e := over()
	hosts := healthyHosts(2)
	s.probation.begin(e.key())
	assert.Equal(t, choice{address: hostB}, s.choose(r, cluster, hosts, list, at(50)))
	hosts = append(hosts, host{address: hostC})
	assert.True(t, s.choose(r, cluster, hosts, list, at(50)).bypass, "one candidate of three")
}

// All were blocked, and are on probation: without probes nobody could ever come back.
func TestWhenAllAreOnProbationEachIsProbed(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	hosts := healthyHosts(3)
	list := blocking(hosts, 3)
	probed := map[string]bool{}
	for range 3 {
		c := s.choose(r, cluster, hosts, list, at(200))
		probed[c.address] = true
		s.probation.begin(c.probe)
	}
	assert.Len(t, probed, 3)
	assert.True(t, s.choose(r, cluster, hosts, list, at(200)).bypass)
}

func TestAnUnhealthyHostIsNotProbed(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	list, _ := over()
	hosts := healthyHosts(3)
	hosts[0].healthy = false
	assert.Equal(t, choice{}, s.choose(r, cluster, hosts, list, at(50)))
}

func TestRulesThatReturnInFullOrObserveSendNoProbes(t *testing.T) {
	list, e := over()
	s := newTestSelector()
	assert.Equal(t, choice{}, s.choose(defaults(), cluster, healthyHosts(3), list, at(50)))
	assert.False(t, s.mayConcern(defaults(), list, at(50)))
	e.Observed = true
	list = newBlocklist([]entry{e}, nil)
	observing := configured(t, `{"return":"probation","mode":"observe"}`)
	assert.Equal(t, choice{}, s.choose(observing, cluster, healthyHosts(3), list, at(50)))
	assert.False(t, s.mayConcern(observing, list, at(50)), "what is over is over: nothing would have been avoided")
}

func TestAnotherClustersBlockConcernsNobodyHere(t *testing.T) {
	s, r := newTestSelector(), configured(t, probationRule)
	list, _ := over()
	assert.True(t, s.mayConcern(r, list, at(50)), "not told yet for which cluster")
	assert.False(t, s.concerns(r, "outbound|443||other.dns", list, at(50)))
	assert.True(t, s.concerns(r, cluster, list, at(50)))
}

func TestWhatHasPassedIsForgottenWhenNoEntryCanRemindOfIt(t *testing.T) {
	p := newProbation()
	for i := range 100 {
		e := blockOf(hostA, float64(i)*600, float64(i)*600+45)
		e.Endpoint = healthyHosts(i + 1)[i].address
		p.pass(e.key(), e.Since, e.Until)
	}
	assert.Less(t, len(p.passed), 40)
	assert.NotEmpty(t, p.passed)
}
