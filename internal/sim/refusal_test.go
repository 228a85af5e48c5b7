package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
)

// played parses the text and plays it on one worker.
func played(t *testing.T, text string) (*Result, error) {
	t.Helper()
	s, err := Parse([]byte(text))
	require.NoError(t, err)
	return Run(t.Context(), s, Options{Wasm: plugintest.Wasm(t), Workers: 1})
}

func TestAConfigurationRefusedAtTheStartIsAMistakeInTheFile(t *testing.T) {
	for given, want := range map[string]string{
		"plugin: {slow_treshold: 5s}": "plugin.slow_treshold: got an unknown key, want slow_threshold perhaps",
		"plugin: {_rules_: [{}]}":     "plugin._rules_[0]: got nothing to match, want _match_route_, _match_domain_, _match_service_ or _match_route_prefix_ with an array of non-empty strings",
		"plugin: 7":                   "plugin: got 7, want an object",
	} {
		_, err := played(t, minimal+given+"\n")
		require.EqualError(t, err, want)
	}
}

func TestAConfigurationRefusedLaterIsSeenWithTheReason(t *testing.T) {
	const refused = "{at: 5s, configure: {plugin: {slow_treshold: 5s}}}"
	result, err := played(t, minimal+"events: ["+refused+"]\n")
	require.NoError(t, err)
	assert.Contains(t, result.Verdicts()[1].Seen, "1: at 5s plugin.slow_treshold: got an unknown key, want slow_threshold perhaps")

	result, err = played(t, minimal+"events: ["+refused+", {at: 6s, configure: {plugin: {mode: 1}}}]\n")
	require.NoError(t, err)
	assert.Regexp(t, "^2: at 5s plugin.slow_treshold: .*; at 6s plugin.mode: got 1", result.Verdicts()[1].Seen)
}

func TestOfManyRefusedConfigurationsSomeAreSeen(t *testing.T) {
	result, err := played(t, minimal+"events: [{at: 1s, every: 1s, until: 9s, configure: {plugin: {mode: 1}}}]\n")
	require.NoError(t, err)
	assert.Regexp(t, "^8: at 1s [^;]*; at 2s [^;]*; at 3s [^;]*; and 5 more$", result.Verdicts()[1].Seen)
}

func TestTheReportShowsEachOfThePluginsWarningsOnce(t *testing.T) {
	result, err := played(t, minimal+"plugin: {_other_: 1}\nevents: [{at: 5s, configure: {plugin: {_other_: 1, _more_: 2}}}]\n")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, result.Write(&out, time.Second))
	assert.Contains(t, out.String(), "minimal\n\n  config warning: plugin._other_: unknown key, ignored\n  config warning: plugin._more_: unknown key, ignored\n\n  requests to")
}

func TestTheHeadOfTheSlowColumnIsItsThreshold(t *testing.T) {
	result := judged(t, "{refused: {at_most: 0}}")
	assert.Equal(t, "≥1m10s", result.endpointRows()[0][5])
	result.Scenario.Plugin = []byte(`{"slow_threshold":"20s"}`)
	assert.Equal(t, "≥20s", result.endpointRows()[0][5])
}
