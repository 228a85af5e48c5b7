package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABlockDecidesAboutAnEndpointsPhaseThenWhetherItIsSlow(t *testing.T) {
	block := Block{Since: 10 * time.Second, Until: 15 * time.Second}
	for name, c := range map[string]struct {
		latest Block
		slow   bool
		now    time.Duration
		want   Phase
	}{
		"well":                      {Block{}, false, time.Second, Healthy},
		"slow":                      {Block{}, true, time.Second, Slow},
		"blocked":                   {block, true, 12 * time.Second, Blocked},
		"blocked and well again":    {block, false, 12 * time.Second, Blocked},
		"at the end of the block":   {block, false, 15 * time.Second, Returned},
		"still slow after a block":  {block, true, 16 * time.Second, Slow},
		"long after a block, still": {block, false, time.Hour, Returned},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, phaseOf(c.latest, c.slow, c.now))
		})
	}
}

// stateAt is a state with one endpoint.
func stateAt(t *testing.T, now time.Duration, phase Phase, events ...Event) State {
	t.Helper()
	plan, err := NewPlan(10)
	require.NoError(t, err)
	endpoint := EndpointState{Name: "b", Phase: phase}
	if phase >= Blocked {
		endpoint.Block = Block{Since: 12_600 * ms, Until: 17_100 * ms}
	}
	return State{Setting: Setting{Plan: plan, Slow: "b"}, At: now, Endpoints: []EndpointState{endpoint}, Events: events}
}

func TestWhatComesNextIsSaidWithItsTime(t *testing.T) {
	fault, heal := Event{At: 5 * time.Second, Kind: EventFault}, Event{At: 15_600 * ms, Kind: EventHeal}
	for want, s := range map[string]State{
		"b turns slow in 3.0 s": stateAt(t, 2*time.Second, Healthy),
		"b turns slow in 0.0 s": stateAt(t, 5010*ms, Healthy),
		"the plugin has to find out; the block of b is due in about 3.7 s": stateAt(t, 9*time.Second, Slow, fault),
		"the block of b is due; the demo gives up in 5.4 s":                stateAt(t, 15*time.Second, Slow, fault),
		"b heals in 1.6 s, its block ends in 3.1 s":                        stateAt(t, 14*time.Second, Blocked, fault),
		"the block of b ends in 1.1 s":                                     stateAt(t, 16*time.Second, Blocked, fault, heal),
		"the verdict in 4.1 s":                                             stateAt(t, 18*time.Second, Returned, fault, heal),
		"the verdict":                                                      stateAt(t, 24*time.Second, Slow, fault, Event{Kind: EventGaveUp}),
	} {
		assert.Equal(t, want, s.Next())
	}
}

func TestTheStorysPhaseIsThatOfTheEndpointItIsAbout(t *testing.T) {
	s := stateAt(t, 0, Slow)
	s.Endpoints = append([]EndpointState{{Name: "a"}}, s.Endpoints...)
	assert.Equal(t, Slow, s.Phase())
	s.Setting.Slow = "nobody"
	assert.Equal(t, Healthy, s.Phase())
}

func TestTheLatestBlockOfAnEndpointCounts(t *testing.T) {
	blocks := []Block{{Endpoint: "b", Strikes: 1}, {Endpoint: "b", Strikes: 2}, {Endpoint: "c", Strikes: 3}}
	assert.Equal(t, 2, latestOf("b", blocks).Strikes)
	assert.Zero(t, latestOf("a", blocks))
}
