package tuning

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

func TestAStageIsAScenarioWithARuleForEachCluster(t *testing.T) {
	one := slowHost("one", configuration{growth(), jitter()}, step{warmUp, hang}, step{2 * time.Minute, usual})
	two := slowHost("two", configuration{probation()})
	two.to = time.Minute
	scenario, err := stage{name: "x", workers: 3, duration: time.Hour, clusters: []cluster{one, two}}.scenario()
	require.NoError(t, err)
	assert.JSONEq(t, `{"_rules_": [
		{"_match_route_": ["one"], "block_ttl_max": "10m", "block_ttl_jitter_percent": 25},
		{"_match_route_": ["two"], "return": "probation"}
	]}`, string(scenario.Plugin))
	hosts := scenario.Clusters[0].Endpoints
	require.Len(t, hosts, returnHosts)
	assert.Equal(t, one.host(0), hosts[0].Name)
	assert.Len(t, hosts[0].Latency, 3)
	assert.True(t, hosts[0].Latency[1].Hang)
	assert.Len(t, hosts[1].Latency, 1, "well")
	assert.Equal(t, time.Minute, time.Duration(*scenario.Traffic[1].To))
	assert.Equal(t, scenario.Duration, *scenario.Traffic[0].To)
}

// So that a difference between the two columns is one of the evidence.
func TestBothKindsOfEvidenceGetTheSameRequests(t *testing.T) {
	moments := func(kind key) []time.Duration {
		scenario, err := stage{name: "x", workers: 4, duration: 5 * time.Minute, clusters: hanging(2, kind)}.scenario()
		require.NoError(t, err)
		var all []time.Duration
		for _, arrival := range scenario.Arrivals(4, 1) {
			all = append(all, arrival.At)
		}
		return all
	}
	assert.Greater(t, len(moments(byWorker())), 1000)
	assert.Equal(t, moments(byWorker()), moments(allTogether()))
}

func TestARunThatThePluginRefusesHasNoFigures(t *testing.T) {
	s := single(configuration{{"block_ttl", "forty"}}, time.Minute)
	_, err := s.play(t.Context(), plugintest.Wasm(t), 1)
	require.ErrorContains(t, err, "block_ttl: forty: ")
}

func TestARunInWhichThePluginFailsHasNoFigures(t *testing.T) {
	result := sim.NewResult(&sim.Scenario{}, 1)
	require.NoError(t, pluginFailed(result))
	result.Metrics["endpoint_breaker.metric.panics"] = 2
	require.EqualError(t, pluginFailed(result), "the plugin failed: 2 panics, 0 failed host calls, 0 VMs trapped")
	result = sim.NewResult(&sim.Scenario{}, 1)
	result.Trapped = 1
	require.Error(t, pluginFailed(result))
}
