package shipped

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

func TestAnAddressThatLeavesAndComesBackIsStillBlocked(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	w.block(hostA)
	all := w.hosts
	w.hosts = all[1:]
	w.to(100)
	c := w.send(0)
	assert.Empty(t, c.OverrideHost(), "nobody to avoid: Envoy chooses")
	c.answer()

	w.hosts = all
	w.to(134.9)
	for range 6 {
		c := w.send(0)
		assert.Contains(t, []string{hostB, hostC}, c.OverrideHost())
		c.answer()
	}
}

func TestAnAddressThatAnotherClusterUsesTooIsBlockedInItsOwnOnly(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	w.block(hostA)
	s, err := w.plugin.Worker(0).NewStream(wasmhost.Route{
		Name: "llm", Cluster: "outbound|443||other.dns", Hosts: func() []wasmhost.Host { return w.hosts },
	})
	require.NoError(t, err)
	_, err = s.RequestHeaders(post, true)
	require.NoError(t, err)
	assert.Empty(t, s.OverrideHost())
	require.NoError(t, s.Close())
}

func TestABlockedHostThatIsUnhealthyTooLeavesTheChoiceToEnvoy(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	w.block(hostA)
	for _, health := range []string{"Unhealthy", "something new"} {
		w.hosts[0].Health = health
		c := w.send(0)
		assert.Empty(t, c.OverrideHost(), "%s: Envoy avoids it, and the others are all free", health)
		c.answer()
	}
	w.hosts[0].Health = "Healthy"
	c := w.send(0)
	assert.Contains(t, []string{hostB, hostC}, c.OverrideHost(), "well again, and still blocked")
	c.answer()
}

// The host list is read, the host leaves, and the override names one who is gone: Envoy chooses
// among those who are there, and whoever answers late is blamed.
func TestAHostThatLeavesBetweenReadingAndOverridingCostsNothing(t *testing.T) {
	w := start(t, `{"confirm_count": 1, "dedup_window": "0s", "override": "always"}`, 1)
	c := w.send(0)
	require.NotEmpty(t, c.OverrideHost())
	c.SetUpstream("10.0.0.9:8000", 1)
	w.to(70)
	assert.Equal(t, map[string]float64{"10.0.0.9:8000": 115}, w.blocked())
	c.answer()
	assert.EqualValues(t, 1, w.metric("overrides_missed"))
}
