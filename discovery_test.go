//go:build envoy

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// discoveriesOf are the moments, in milliseconds from 0 to 60 s, at which one of a steady
// stream of requests is left to Envoy.
func discoveriesOf(c *census, known func(millisecond int) int) []int {
	var moments []int
	for ms := 0; ms < 60_000; ms += 10 {
		if c.discovers(known(ms), at(float64(ms)/1000)) {
			moments = append(moments, ms)
		}
	}
	return moments
}

func constant(n int) func(int) int { return func(int) int { return n } }

func TestWhileAHostIsUnknownEnvoyChoosesNowAndThen(t *testing.T) {
	got := discoveriesOf(&census{endpoints: 4}, constant(3))
	assert.Equal(t, []int{200, 600, 1400, 3000, 6200, 12600, 22600, 32600, 42600, 52600}, got,
		"after 200 ms, then pauses that double up to 10 s")
}

func TestWhenAllHostsAreKnownEnvoyIsNotAsked(t *testing.T) {
	assert.Empty(t, discoveriesOf(&census{endpoints: 3}, constant(3)))
	assert.Empty(t, discoveriesOf(&census{endpoints: 3}, constant(4)), "one of them has left")
}

func TestWhenTheNumberOfHostsIsNotKnownEnvoyIsNotAsked(t *testing.T) {
	assert.Empty(t, discoveriesOf(&census{}, constant(3)))
}

func TestAHostThatTurnsUpMakesTheNextOneWorthLookingFor(t *testing.T) {
	got := discoveriesOf(&census{endpoints: 5}, func(ms int) int {
		if ms < 30_000 {
			return 3
		}
		return 4
	})
	assert.Equal(t, []int{200, 600, 1400, 3000, 6200, 12600, 22600}, got[:7])
	assert.Equal(t, []int{30_200, 30_600, 31_400}, got[7:10])
}

func TestAHostThatIsDroppedDoesNotMakeItMoreUrgent(t *testing.T) {
	got := discoveriesOf(&census{endpoints: 5}, func(ms int) int {
		if ms < 30_000 {
			return 4
		}
		return 3
	})
	assert.Equal(t, []int{200, 600, 1400, 3000, 6200, 12600, 22600, 32600, 42600, 52600}, got)
}

func TestHostsThatNeverTurnUpAreNoLongerCountedWithTheOthers(t *testing.T) {
	c := &census{endpoints: 11}
	for ms := 0; ms <= 6190; ms += 10 {
		c.discovers(2, at(float64(ms)/1000))
		assert.Equal(t, 9, c.unmet(2), "they may just not have answered yet")
	}
	discoveriesOf(c, constant(2))
	assert.Zero(t, c.unmet(2), "nobody new for long: backups, or one address listed twice")
	c.discovers(3, at(61))
	assert.Equal(t, 8, c.unmet(3), "somebody new: there may be more")
	assert.Zero(t, (&census{endpoints: 3}).unmet(4), "one of them has left")
}

func TestDiscoveryBeginsAnewWhenAHostIsAddedLater(t *testing.T) {
	c := &census{endpoints: 4}
	assert.NotEmpty(t, discoveriesOf(c, constant(3)))
	assert.False(t, c.discovers(4, at(70)))
	c.endpoints = 5
	assert.False(t, c.discovers(4, at(80)))
	assert.False(t, c.discovers(4, at(80.199)))
	assert.True(t, c.discovers(4, at(80.2)))
}

func TestAClusterThatNobodyAsksAboutIsForgotten(t *testing.T) {
	c := newCensuses()
	c.cluster("a", at(0)).endpoints = 3
	c.cluster("b", at(300)).endpoints = 4
	assert.Equal(t, 3, c.cluster("a", at(300)).endpoints)
	c.cluster("b", at(500))
	c.cluster("c", at(900))
	assert.NotContains(t, c.of, "a", "ten minutes later")
	assert.Equal(t, 4, c.cluster("b", at(901)).endpoints)
	c.cluster("d", at(1499))
	assert.Len(t, c.of, 3, "looked through once in ten minutes")
}
