package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func clusterOf(t *testing.T) (*cluster, map[string]*endpoint) {
	t.Helper()
	s, err := Parse([]byte(minimal))
	require.NoError(t, err)
	m := newSimulation(s, Options{Workers: 2})
	return m.clusters["llm"], m.endpoints
}

func TestEachWorkerDealsInTurn(t *testing.T) {
	c, _ := clusterOf(t)
	for worker := range 2 {
		first, _ := c.choose(worker, "")
		second, _ := c.choose(worker, "")
		third, _ := c.choose(worker, "")
		assert.NotEqual(t, first.Name, second.Name)
		assert.Equal(t, first.Name, third.Name)
	}
}

func TestAnOverrideIsHonouredIfItsHostIsThereAndSelectable(t *testing.T) {
	c, endpoints := clusterOf(t)
	for range 3 {
		chosen, overridden := c.choose(0, "10.0.0.1:8000")
		assert.Equal(t, "A", chosen.Name)
		assert.True(t, overridden)
	}
	endpoints["A"].health = "Unhealthy"
	chosen, overridden := c.choose(0, "10.0.0.1:8000")
	assert.Equal(t, "B", chosen.Name)
	assert.False(t, overridden)

	_, overridden = c.choose(0, "10.9.9.9:8000")
	assert.False(t, overridden)
}

func TestWithoutASelectableHostNobodyIsChosen(t *testing.T) {
	c, endpoints := clusterOf(t)
	endpoints["A"].health, endpoints["B"].health = "Unhealthy", "Degraded"
	chosen, _ := c.choose(0, "")
	assert.Equal(t, "B", chosen.Name, "degraded is better than nobody")

	c.remove(endpoints["B"])
	chosen, _ = c.choose(0, "")
	assert.Nil(t, chosen)
}

func TestTheListFollowsTheRegistry(t *testing.T) {
	c, endpoints := clusterOf(t)
	c.moveToFront(endpoints["B"])
	assert.Equal(t, "[fd00::1]:8000", c.list()[0].Address)
	c.remove(endpoints["B"])
	c.add(endpoints["B"])
	c.add(endpoints["B"])
	assert.Len(t, c.list(), 2)
	assert.Equal(t, "10.0.0.1:8000", c.list()[0].Address)
}
