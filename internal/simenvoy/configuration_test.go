package simenvoy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/wasmhost"
)

func TestEveryDurationOfAConfigurationIsScaled(t *testing.T) {
	for given, want := range map[string]string{
		`{"slow_threshold":"1m10s","mode":"observe","confirm_count":3}`:         `"confirm_count":3,"confirm_window":"15.025s","dedup_window":"225ms","mode":"observe","slow_threshold":"3.5s"`,
		`{"first_chunk_threshold":"30s","block_ttl":"1m","block_ttl_max":"5m"}`: `"block_ttl":"3s","block_ttl_max":"15s",`,
		`{"check_interval":"10s"}`:               `"check_interval":"500ms"`,
		`{"check_interval":"1s"}`:                `"check_interval":"100ms"`,
		`{"check_interval":"0s"}`:                `"check_interval":"0s"`,
		`{"dedup_window":"0s"}`:                  `"dedup_window":"0s"`,
		`{"dedup_window":"200ms"}`:               `"dedup_window":"5ms"`,
		`{"block_ttl":"0s","slow_threshold":70}`: `"slow_threshold":70`,
		`{"mode":"off","_rules_":[{"_match_route_":["5s"],"slow_threshold":"20s"}]}`: `"_rules_":[{"_match_route_":["5s"],"slow_threshold":"1s"}],`,
	} {
		assert.Contains(t, string(scaled(json.RawMessage(given), 20)), want, given)
	}
}

func TestAConfigurationThatCannotBeReadStaysAsItIs(t *testing.T) {
	for _, given := range []string{`7`, `"pass"`, `{"_rules_":{}}`, `{"_rules_":[7]}`} {
		assert.Equal(t, given, string(scaled(json.RawMessage(given), 20)))
	}
}

func TestTheConfirmWindowDoesNotPassItsLimit(t *testing.T) {
	assert.Contains(t, string(scaled(json.RawMessage(`{"confirm_window":"10m"}`), 1)), `"confirm_window":"10m0s"`)
	assert.Contains(t, string(scaled(json.RawMessage(`{"confirm_window":"20m"}`), 1)), `"confirm_window":"20m0s"`)
}

// What the plugin takes for granted is known here, too: a configuration that leaves all out
// is in force with each of its durations a twentieth of the default.
func TestTheDefaultsThatAreScaledAreThePluginsOwn(t *testing.T) {
	defaults := accepted(t, `{}`)
	for _, empty := range []string{``, `null`, `{}`} {
		inForce := accepted(t, string(scaled(json.RawMessage(empty), 20)))
		require.Len(t, inForce, len(defaults))
		for key, value := range defaults {
			want, err := time.ParseDuration(value)
			if err != nil {
				assert.Equal(t, value, inForce[key], key)
				continue
			}
			got, err := time.ParseDuration(inForce[key])
			require.NoError(t, err)
			wrong := limitGuard
			if key == checkIntervalKey {
				wrong = leastCheckInterval
			}
			assert.InDelta(t, want/20, got, float64(wrong), key)
		}
	}
}

// Rules without anything beside them leave all other requests alone, scaled or not.
func TestRulesAloneStayAlone(t *testing.T) {
	given := `{"_rules_":[{"_match_route_":["a"],"slow_threshold":"20s"},{"_match_route_":["b"],"mode":"observe"}]}`
	var got struct {
		Mode  string           `json:"mode"`
		Rules []map[string]any `json:"_rules_"`
	}
	require.NoError(t, json.Unmarshal(scaled(json.RawMessage(given), 20), &got))
	assert.Equal(t, "off", got.Mode)
	assert.Equal(t, "enforce", got.Rules[0]["mode"])
	assert.Equal(t, "1s", got.Rules[0]["slow_threshold"])
	assert.Equal(t, "observe", got.Rules[1]["mode"])
	assert.Equal(t, "mode=off", "mode="+accepted(t, string(scaled(json.RawMessage(given), 20)))["mode"])
}

// accepted is what the plugin says is in force, by key.
func accepted(t *testing.T, configuration string) map[string]string {
	t.Helper()
	keys := map[string]string{}
	p, err := wasmhost.Load(t.Context(), wasmhost.Options{
		Wasm: plugintest.Wasm(t), Configuration: configuration, Workers: 1,
		Clock: wasmhost.NewVirtualClock(time.Hour, time.Unix(0, 0)),
		OnLog: func(line wasmhost.LogLine) {
			_, text, _ := strings.Cut(line.Message, "config accepted ")
			for _, word := range strings.Fields(text) {
				if key, value, found := strings.Cut(word, "="); found {
					keys[key] = value
				}
			}
		},
	})
	require.NoError(t, err)
	require.NoError(t, p.Close(context.WithoutCancel(t.Context())))
	require.Contains(t, keys, "block_ttl")
	return keys
}
