package envoy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/envoy"
)

func TestMetricsHaveEnvoysPlainNames(t *testing.T) {
	e := start(t, eds(envoy.Setup{Listener: listener(t, envoy.Route("all", "/", models))}, server(t, "a")))
	const name = "cluster.outbound|8000|v1_a|models.dns.upstream_rq_200"
	before, err := e.Metric(soon(t), name)
	require.NoError(t, err)
	assert.Zero(t, before, "not there yet")
	for range 3 {
		get(t, e.URL())
	}
	count := func() float64 {
		value, err := e.Metric(soon(t), name)
		require.NoError(t, err)
		return value
	}
	eventually(t, func() bool { return count() == 3 }, "three requests")

	all, err := e.Metrics(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 3, all[name])
	assert.EqualValues(t, 1, all["listener_manager.total_listeners_active"])
	assert.Greater(t, len(all), 200)
}
