package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPlanIsTheDeployedFiguresDividedByTheScale(t *testing.T) {
	plan, err := NewPlan(10)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"slow_threshold": "7s", "dedup_window": "500ms", "confirm_count": 2,
		"confirm_window": "30s", "block_ttl": "4.5s", "check_interval": "100ms"
	}`, plan.Configuration())
	assert.Less(t, plan.Duration(), 40*time.Second)
}

func TestRealTimeIsAsDeployed(t *testing.T) {
	plan, err := NewPlan(1)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"slow_threshold": "1m10s", "dedup_window": "5s", "confirm_count": 2,
		"confirm_window": "5m0s", "block_ttl": "45s", "check_interval": "500ms"
	}`, plan.Configuration())
}

func TestEveryPlanHealsDuringTheBlockAndIsSlowerThanTheThreshold(t *testing.T) {
	for _, scale := range []float64{1, 10, 50} {
		plan, err := NewPlan(scale)
		require.NoError(t, err)
		assert.Less(t, plan.HealAfter, plan.BlockTTL)
		assert.Greater(t, plan.SlowAnswer, plan.SlowThreshold+plan.DedupWindow+confirmCount*plan.CheckInterval)
		assert.Greater(t, plan.clientTimeout(), plan.SlowAnswer)
		assert.GreaterOrEqual(t, plan.CheckInterval, 100*time.Millisecond)
	}
}

func TestAScaleOutsideItsLimitsIsRefused(t *testing.T) {
	for _, scale := range []float64{0, 0.5, 51, -1} {
		_, err := NewPlan(scale)
		require.ErrorContains(t, err, "it goes from 1 (real time) to 50 (times faster)")
	}
}
