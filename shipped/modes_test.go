package shipped

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

func TestObserveDoesEverythingButTheOverride(t *testing.T) {
	w := start(t, `{"mode": "observe", "confirm_count": 3, "check_interval": "0s"}`, 1)
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90})
	require.Len(t, w.entries(), 1)
	assert.True(t, w.entries()[0].Observed)
	assert.Len(t, w.logged("endpoint-breaker block", "mode=observe", "endpoint="+hostA), 1)
	for range 3 {
		c := w.send(0)
		assert.Empty(t, c.OverrideHost())
		c.answer()
	}
	assert.EqualValues(t, 1, w.metric("blocks_observed"))
	assert.EqualValues(t, 3, w.metric("overrides_observed"), "what it would have done")
	assert.Zero(t, w.metric("blocks_enforced"))
	assert.Zero(t, w.metric("overrides_enforced"))
}

func TestOffTimesAndFiltersNothing(t *testing.T) {
	w := start(t, `{"mode": "off"}`, 1)
	before := w.plugin.Worker(0).Calls()["proxy_get_shared_data"]
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90})
	assert.Equal(t, before, w.plugin.Worker(0).Calls()["proxy_get_shared_data"])
	assert.Empty(t, w.entries())
}

func TestEachRuleHasItsOwnThreshold(t *testing.T) {
	w := start(t, `{"check_interval": "0s", "_rules_": [
		{"_match_route_": ["llm"], "slow_threshold": "100s"},
		{"_match_service_": ["other.dns"], "slow_threshold": "1s"}]}`, 1)
	c := w.sendTo(0, hostA)
	w.to(99.9)
	c.answer()
	assert.Zero(t, w.metric("samples"), "the route's 100 s, not the default 70 s")
	c = w.sendTo(0, hostA)
	w.to(200)
	c.answer()
	assert.EqualValues(t, 1, w.metric("samples"))
}

func TestWithoutAGlobalPartOtherRequestsAreLeftAlone(t *testing.T) {
	w := start(t, `{"_rules_": [{"_match_route_": ["another"]}]}`, 1)
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90})
	assert.Empty(t, w.entries())
}

func TestAnEmptyConfigurationIsAllDefaults(t *testing.T) {
	for _, configuration := range []string{``, `null`, `{}`, `{"_rules_": []}`, `{"_rules_": null}`, `{"_plugin_id_": "x", "_rules_": []}`} {
		t.Run(configuration, func(t *testing.T) {
			w := start(t, configuration, 1)
			w.slow(late{hostA, 80}, late{hostA, 85})
			assert.Contains(t, w.blocked(), hostA, "two confirmations")
			assert.Empty(t, w.logged("start failed"))
		})
	}
}

func TestAWrongConfigurationIsRefusedNamingTheKey(t *testing.T) {
	for _, test := range []struct{ configuration, want string }{
		{`{"slow_threshold": 70}`, `slow_threshold: got 70`},
		{`{"slow_treshold": "70s"}`, `slow_treshold: got an unknown key, want slow_threshold perhaps`},
		{`{"slow_threshold": "x", "_rules_": [{"_match_route_": ["r"]}]}`, `slow_threshold: got "x"`},
		{`{"_rules_": [{"_match_route_": ["r"], "confirm_count": 0}]}`, `_rules_[0].confirm_count: got 0`},
		{`{"return": "slowly"}`, `return: got "slowly", want "full" or "probation"`},
		{`[]`, `configuration: got an array, want an object`},
	} {
		t.Run(test.configuration, func(t *testing.T) {
			_, err := load(t, test.configuration, 1)
			var refused *wasmhost.ConfigurationRefusedError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, "endpoint-breaker config refused")
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestAWarningDoesNotKeepTheConfigurationFromServing(t *testing.T) {
	w := start(t, `{"confirm_window": "1m"}`, 1)
	assert.NotEmpty(t, w.logged("endpoint-breaker config warning", "confirm_window"))
}

func TestBlocksSurviveAConfigurationChange(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	old := w.sendTo(0, hostB)
	require.NoError(t, w.plugin.Reconfigure(t.Context(), `{"block_ttl": "60s", "confirm_count": 3, "check_interval": "0s"}`))
	assert.Equal(t, map[string]float64{hostA: 135}, w.blocked())
	assert.NotEqual(t, hostA, w.sendTo(0, hostA).endpoint)
	w.to(170)
	old.answer()
	assert.EqualValues(t, 4, w.metric("samples"), "the old configuration finishes its streams")
}

func TestAStreamOfTheOldConfigurationBlocksForTheNewTTL(t *testing.T) {
	w := start(t, `{"confirm_count": 1, "slow_threshold": "10s", "block_ttl": "1h"}`, 1)
	old := w.sendTo(0, hostA)
	w.to(5)
	require.NoError(t, w.plugin.Reconfigure(t.Context(), `{"block_ttl": "30s"}`))
	w.to(11)
	assert.Equal(t, map[string]float64{hostA: 40}, w.blocked())
	old.done()
}

func TestAChangeToAShorterTTLShortensTheBlocks(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	require.NoError(t, w.plugin.Reconfigure(t.Context(), `{"block_ttl": "10s"}`))
	assert.Equal(t, map[string]float64{hostA: 101}, w.blocked())
}

func TestARefusedChangeLeavesTheOldConfigurationServing(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	err := w.plugin.Reconfigure(t.Context(), `{"slow_threshold": 70}`)
	var refused *wasmhost.ConfigurationRefusedError
	require.ErrorAs(t, err, &refused)
	w.block(hostA)
	assert.NotEqual(t, hostA, w.sendTo(0, hostA).endpoint)
}

func TestAPanicLetsTheRequestPassAndIsCounted(t *testing.T) {
	w := start(t, `{}`, 1)
	w.panicking()
	for range 3 {
		c := w.send(0)
		assert.Nil(t, c.LocalReply())
		c.answer()
	}
	require.NoError(t, w.plugin.Worker(0).Trapped())
	assert.EqualValues(t, 3, w.total("panics"))
}

func TestPanicRecoveryCanBeSwitchedOffToSeeTheStack(t *testing.T) {
	w := start(t, `{}`, 1, withEnv("WASM_DISABLE_PANIC_RECOVERY", "true"))
	w.panicking()
	c := w.stream(0)
	_, err := c.RequestHeaders(post, false)
	require.NoError(t, err)
	trapped := w.plugin.Worker(0).Trapped()
	require.Error(t, trapped)
	var trap *wasmhost.TrapError
	require.ErrorAs(t, trapped, &trap)
	assert.NotEmpty(t, w.logged("panic: "), "the raw panic")
	assert.NotEmpty(t, w.logged("goroutine"), "and its stack")
}

// panicking makes the wrapper panic inside its own callback: it wants to log that the host did
// not tell it the authority, and stumbles over the host's answer to get_log_level.
func (w *world) panicking() {
	w.faults.Add(func(call wasmhost.HostCall) wasmhost.Fault {
		switch {
		case call.Name == "proxy_get_header_map_value" && call.Argument == ":authority":
			return wasmhost.Fault{Status: wasmhost.StatusInternalFailure}
		case call.Name == "proxy_call_foreign_function":
			return wasmhost.Fault{Replace: func([]byte) []byte { return []byte{2} }}
		}
		return wasmhost.Fault{}
	})
}

func TestAChangeOfRulesIsMatchedByTheNewOnes(t *testing.T) {
	w := start(t, `{"check_interval": "0s", "_rules_": [{"_match_route_": ["llm"], "slow_threshold": "100s"}]}`, 1)
	require.NoError(t, w.plugin.Reconfigure(t.Context(), `{"check_interval": "0s", "_rules_": [
		{"_match_route_": ["another"]}, {"_match_route_": ["llm"], "slow_threshold": "50s"}]}`))
	c := w.sendTo(0, hostA)
	w.to(50)
	c.answer()
	assert.EqualValues(t, 1, w.metric("samples"))
}

func TestAnAcceptedConfigurationIsShown(t *testing.T) {
	w := start(t, `{"slow_threshold": "30s"}`, 2)
	assert.Len(t, w.logged("[info]", "endpoint-breaker config accepted version=", "slow_threshold=30s"), 3, "by each VM")
}
