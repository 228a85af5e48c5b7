package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/higress-group/wasm-go/pkg/iface"
	"github.com/higress-group/wasm-go/pkg/matcher"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// specifiedDefaults is the default column of the configuration table.
func specifiedDefaults() rule {
	return rule{
		mode:                 modeEnforce,
		slowThreshold:        70 * time.Second,
		firstChunkThreshold:  70 * time.Second,
		measure:              measureAuto,
		dedupWindow:          5 * time.Second,
		confirmCount:         2,
		confirmWindow:        5 * time.Minute,
		blockTTL:             45 * time.Second,
		blockTTLMax:          45 * time.Second,
		minSlowRequests:      10,
		maxBlockedPercent:    100,
		minCandidatesPercent: 20,
		override:             overrideWhenBlocked,
		pick:                 pickRoundRobin,
		returns:              returnFull,
		evidence:             evidenceWorker,
		countTimeouts:        true,
	}
}

// withoutIDs takes away the rules' ids, which have a test of their own.
func (s *settings) withoutIDs() *settings {
	for _, r := range append(s.rules, s.global) {
		if r != nil {
			r.id = ""
		}
	}
	return s
}

func mustParse(t *testing.T, configuration string) *settings {
	t.Helper()
	s, err := parseSettings([]byte(configuration))
	require.NoError(t, err, configuration)
	return s
}

func TestEachKeyHasItsDefault(t *testing.T) {
	s := mustParse(t, `{}`)
	for _, c := range []struct {
		key       string
		want, got any
	}{
		{"mode", "enforce", s.global.mode.String()},
		{"slow_threshold", "1m10s", s.global.slowThreshold.String()},
		{"first_chunk_threshold", s.global.slowThreshold, s.global.firstChunkThreshold},
		{"measure", "auto", s.global.measure.String()},
		{"dedup_window", "5s", s.global.dedupWindow.String()},
		{"confirm_count", 2, s.global.confirmCount},
		{"confirm_window", "5m0s", s.global.confirmWindow.String()},
		{"block_ttl", "45s", s.global.blockTTL.String()},
		{"block_ttl_max", s.global.blockTTL, s.global.blockTTLMax},
		{"block_ttl_jitter_percent", 0, s.global.blockTTLJitterPercent},
		{"min_slow_percent", 0, s.global.minSlowPercent},
		{"min_slow_requests", 10, s.global.minSlowRequests},
		{"max_blocked_percent", 100, s.global.maxBlockedPercent},
		{"min_candidates_percent", 20, s.global.minCandidatesPercent},
		{"override", "when_blocked", s.global.override.String()},
		{"pick", "round_robin", s.global.pick.String()},
		{"return", "full", s.global.returns.String()},
		{"evidence", "worker", s.global.evidence.String()},
		{"count_timeouts", true, s.global.countTimeouts},
		{"count_aborts_after", "0s", s.global.countAbortsAfter.String()},
		{"stall_threshold", "0s", s.global.stallThreshold.String()},
		{"check_interval", "500ms", s.checkInterval.String()},
	} {
		t.Run(c.key, func(t *testing.T) { assert.Equal(t, c.want, c.got) })
	}
}

func TestAnEmptyConfigurationIsAllDefaults(t *testing.T) {
	for _, configuration := range []string{
		``, `null`, ` null `, `{}`, "\n{ }\t",
		`{"_rules_":[]}`, `{"_rules_":null}`, `{"_plugin_id_":"x"}`, `{"_plugin_id_":"x","_rules_":[]}`,
	} {
		t.Run(configuration, func(t *testing.T) {
			s := mustParse(t, configuration).withoutIDs()
			assert.Equal(t, &settings{global: new(specifiedDefaults()), checkInterval: 500 * time.Millisecond}, s)
		})
	}
}

func TestEachKeySetsItsValue(t *testing.T) {
	for _, c := range []struct {
		members string
		change  func(*rule)
	}{
		{`"mode":"enforce"`, func(*rule) {}},
		{`"mode":"observe"`, func(r *rule) { r.mode = modeObserve }},
		{`"mode":"off"`, func(r *rule) { r.mode = modeOff }},
		{`"mode":false`, func(r *rule) { r.mode = modeOff }}, // YAML's bare off
		{`"slow_threshold":"1ns"`, func(r *rule) { r.slowThreshold, r.firstChunkThreshold = 1, 1 }},
		{`"slow_threshold":"1m30s"`, func(r *rule) { r.slowThreshold, r.firstChunkThreshold = 90*time.Second, 90*time.Second }},
		{`"slow_threshold":"1h"`, func(r *rule) { r.slowThreshold, r.firstChunkThreshold = time.Hour, time.Hour }},
		{`"first_chunk_threshold":"1ns"`, func(r *rule) { r.firstChunkThreshold = 1 }},
		{`"first_chunk_threshold":"1h"`, func(r *rule) { r.firstChunkThreshold = time.Hour }},
		{`"first_chunk_threshold":"9s","slow_threshold":"8s"`, func(r *rule) { r.slowThreshold, r.firstChunkThreshold = 8*time.Second, 9*time.Second }},
		{`"measure":"auto"`, func(*rule) {}},
		{`"measure":"headers"`, func(r *rule) { r.measure = measureHeaders }},
		{`"measure":"first_chunk"`, func(r *rule) { r.measure = measureFirstChunk }},
		{`"dedup_window":"0s"`, func(r *rule) { r.dedupWindow = 0 }},
		{`"dedup_window":"500ms"`, func(r *rule) { r.dedupWindow = 500 * time.Millisecond }},
		{`"dedup_window":"5m"`, func(r *rule) { r.dedupWindow = 5 * time.Minute }},
		{`"dedup_window":"10m","confirm_count":1`, func(r *rule) { r.dedupWindow, r.confirmCount = 10*time.Minute, 1 }},
		{`"confirm_count":1`, func(r *rule) { r.confirmCount = 1 }},
		{`"confirm_count":20`, func(r *rule) { r.confirmCount = 20 }},
		{`"confirm_window":"1ns","confirm_count":1`, func(r *rule) { r.confirmWindow, r.confirmCount = 1, 1 }},
		{`"confirm_window":"10m"`, func(r *rule) { r.confirmWindow = 10 * time.Minute }},
		{`"confirm_window":"15s","confirm_count":4`, func(r *rule) { r.confirmWindow, r.confirmCount = 15*time.Second, 4 }},
		{`"block_ttl":"1ns"`, func(r *rule) { r.blockTTL, r.blockTTLMax = 1, 1 }},
		{`"block_ttl":"1h"`, func(r *rule) { r.blockTTL, r.blockTTLMax = time.Hour, time.Hour }},
		{`"block_ttl_max":"45s"`, func(*rule) {}},
		{`"block_ttl_max":"1m","block_ttl":"60s"`, func(r *rule) { r.blockTTL, r.blockTTLMax = time.Minute, time.Minute }},
		{`"block_ttl_max":"45s","block_ttl":"1ns"`, func(r *rule) { r.blockTTL = 1 }},
		{`"block_ttl_max":"1h"`, func(r *rule) { r.blockTTLMax = time.Hour }},
		{`"block_ttl_jitter_percent":0`, func(*rule) {}},
		{`"block_ttl_jitter_percent":50`, func(r *rule) { r.blockTTLJitterPercent = 50 }},
		{`"min_slow_percent":0`, func(*rule) {}},
		{`"min_slow_percent":100`, func(r *rule) { r.minSlowPercent = 100 }},
		{`"min_slow_percent":1,"min_slow_requests":1`, func(r *rule) { r.minSlowPercent, r.minSlowRequests = 1, 1 }},
		{`"min_slow_percent":1,"min_slow_requests":10000`, func(r *rule) { r.minSlowPercent, r.minSlowRequests = 1, 10_000 }},
		{`"max_blocked_percent":1`, func(r *rule) { r.maxBlockedPercent = 1 }},
		{`"max_blocked_percent":100`, func(*rule) {}},
		{`"min_candidates_percent":0`, func(r *rule) { r.minCandidatesPercent = 0 }},
		{`"min_candidates_percent":100`, func(r *rule) { r.minCandidatesPercent = 100 }},
		{`"override":"when_blocked"`, func(*rule) {}},
		{`"override":"always"`, func(r *rule) { r.override = overrideAlways }},
		{`"pick":"round_robin"`, func(*rule) {}},
		{`"pick":"random"`, func(r *rule) { r.pick = pickRandom }},
		{`"pick":"least_request"`, func(r *rule) { r.pick = pickLeastRequest }},
		{`"return":"full"`, func(*rule) {}},
		{`"return":"probation"`, func(r *rule) { r.returns = returnProbation }},
		{`"evidence":"worker"`, func(*rule) {}},
		{`"evidence":"shared"`, func(r *rule) { r.evidence = evidenceShared }},
		{`"count_timeouts":true`, func(*rule) {}},
		{`"count_timeouts":false`, func(r *rule) { r.countTimeouts = false }},
		{`"count_aborts_after":"1ns"`, func(r *rule) { r.countAbortsAfter = 1 }},
		{`"count_aborts_after":"69999ms"`, func(r *rule) { r.countAbortsAfter = 69_999 * time.Millisecond }},
		{`"stall_threshold":"0s"`, func(*rule) {}},
		{`"stall_threshold":"1ns"`, func(r *rule) { r.stallThreshold = 1 }},
		{`"stall_threshold":"1h"`, func(r *rule) { r.stallThreshold = time.Hour }},
		{`"slow\u005fthreshold":"2\u0073"`, func(r *rule) { r.slowThreshold, r.firstChunkThreshold = 2*time.Second, 2*time.Second }},
	} {
		t.Run(c.members, func(t *testing.T) {
			want := specifiedDefaults()
			c.change(&want)

			s := mustParse(t, `{`+c.members+`}`).withoutIDs()
			assert.Equal(t, &want, s.global, "at the top")
			assert.Empty(t, s.rules)

			s = mustParse(t, `{"_rules_":[{"_match_route_":["a"],`+c.members+`}]}`).withoutIDs()
			assert.Nil(t, s.global)
			assert.Equal(t, []*rule{&want}, s.rules, "in a rule")
		})
	}
}

func TestCheckInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "0ms": 0, "100ms": 100 * time.Millisecond, "1m": time.Minute,
	} {
		t.Run(text, func(t *testing.T) {
			assert.Equal(t, want, mustParse(t, `{"check_interval":"`+text+`"}`).checkInterval)
		})
	}
}

const (
	ownKeysInRules = "mode, slow_threshold, first_chunk_threshold, measure, dedup_window, confirm_count, confirm_window, " +
		"block_ttl, block_ttl_max, block_ttl_jitter_percent, min_slow_percent, min_slow_requests, max_blocked_percent, " +
		"min_candidates_percent, override, pick, return, evidence, count_timeouts, count_aborts_after, stall_threshold"
	ownKeysAtTop = ownKeysInRules + ", check_interval"
	patience     = "(slow_threshold, or first_chunk_threshold where that may count)"
	matchKeys    = "_match_route_, _match_domain_, _match_service_ or _match_route_prefix_ with an array of non-empty strings"
)

func TestAWrongValueIsRefusedNamingKeyValueAndRemedy(t *testing.T) {
	const (
		modes     = `want "enforce", "observe" or "off"`
		upToHour  = "want a duration with a unit, above 0s and at most 1h"
		upTo10Min = "want a duration with a unit, above 0s and at most 10m"
		dedup     = "want a duration with a unit, from 0s to 10m"
		stall     = "want a duration with a unit, from 0s to 1h"
		interval  = "want a duration with a unit, 0s or from 100ms to 1m"
	)
	for _, c := range []struct{ members, want string }{
		// Enumerations.
		{`"mode":"enforced"`, `mode: got "enforced", ` + modes + ` (nearest: enforce)`},
		{`"mode":"Off"`, `mode: got "Off", ` + modes + ` (nearest: off)`},
		{`"mode":"offf"`, `mode: got "offf", ` + modes + ` (nearest: off)`},
		{`"mode":"of"`, `mode: got "of", ` + modes + ` (nearest: off)`},
		{`"mode":"on"`, `mode: got "on", ` + modes},
		{`"mode":""`, `mode: got "", ` + modes},
		{`"mode":true`, `mode: got true, ` + modes},
		{`"mode":null`, `mode: got null, ` + modes},
		{`"mode":0`, `mode: got 0, ` + modes},
		{`"mode":["off"]`, `mode: got an array, ` + modes},
		{`"mode":{"off":true}`, `mode: got an object, ` + modes},
		{`"measure":"header"`, `measure: got "header", want "auto", "headers" or "first_chunk" (nearest: headers)`},
		{`"measure":"first_byte"`, `measure: got "first_byte", want "auto", "headers" or "first_chunk"`},
		{`"override":"when_blocking"`, `override: got "when_blocking", want "when_blocked" or "always" (nearest: when_blocked)`},
		{`"pick":"round-robin"`, `pick: got "round-robin", want "round_robin", "random" or "least_request" (nearest: round_robin)`},
		{`"pick":"randon_robin"`, `pick: got "randon_robin", want "round_robin", "random" or "least_request"`},
		{`"return":"half"`, `return: got "half", want "full" or "probation"`},
		{`"return":"probatoin"`, `return: got "probatoin", want "full" or "probation" (nearest: probation)`},
		{`"return":true`, `return: got true, want "full" or "probation"`},
		{`"return":null`, `return: got null, want "full" or "probation"`},
		{`"evidence":"share"`, `evidence: got "share", want "worker" or "shared" (nearest: shared)`},
		{`"evidence":1`, `evidence: got 1, want "worker" or "shared"`},
		{`"pick":"rundom"`, `pick: got "rundom", want "round_robin", "random" or "least_request" (nearest: random)`},

		// Durations: the unit.
		{`"slow_threshold":70`, `slow_threshold: got 70, want a duration with a unit such as "70s"`},
		{`"slow_threshold":"70"`, `slow_threshold: got "70", want a duration with a unit such as "70s"`},
		{`"slow_threshold":0.5`, `slow_threshold: got 0.5, want a duration with a unit such as "0.5s"`},
		{`"slow_threshold":"1m30"`, `slow_threshold: got "1m30", want a duration with a unit such as "1m30s"`},
		{`"slow_threshold":7200`, `slow_threshold: got 7200, ` + upToHour},
		{`"slow_threshold":0`, `slow_threshold: got 0, ` + upToHour},
		{`"slow_threshold":"0"`, `slow_threshold: got "0", ` + upToHour},
		{`"slow_threshold":-70`, `slow_threshold: got -70, ` + upToHour},
		{`"slow_threshold":""`, `slow_threshold: got "", ` + upToHour},
		{`"slow_threshold":"soon"`, `slow_threshold: got "soon", ` + upToHour},
		{`"slow_threshold":"70 s"`, `slow_threshold: got "70 s", ` + upToHour},
		{`"slow_threshold":"1d"`, `slow_threshold: got "1d", ` + upToHour},
		{`"slow_threshold":true`, `slow_threshold: got true, ` + upToHour},
		{`"slow_threshold":null`, `slow_threshold: got null, ` + upToHour},
		{`"slow_threshold":["70s"]`, `slow_threshold: got an array, ` + upToHour},
		{`"slow_threshold":{"seconds":70}`, `slow_threshold: got an object, ` + upToHour},
		{`"dedup_window":0`, `dedup_window: got 0, want a duration with a unit such as "0s"`},
		{`"dedup_window":"0"`, `dedup_window: got "0", want a duration with a unit such as "0s"`},
		{`"dedup_window":"+0"`, `dedup_window: got "+0", want a duration with a unit such as "+0s"`},
		{`"check_interval":"0"`, `check_interval: got "0", want a duration with a unit such as "0s"`},
		{`"check_interval":1`, `check_interval: got 1, want a duration with a unit such as "1s"`},

		// Durations: the limits.
		{`"slow_threshold":"0s"`, `slow_threshold: got "0s", ` + upToHour},
		{`"slow_threshold":"-70s"`, `slow_threshold: got "-70s", ` + upToHour},
		{`"slow_threshold":"1h0m0.000000001s"`, `slow_threshold: got "1h0m0.000000001s", ` + upToHour},
		{`"slow_threshold":"100m"`, `slow_threshold: got "100m", ` + upToHour},
		{`"slow_threshold":"9999999999h"`, `slow_threshold: got "9999999999h", ` + upToHour},
		{`"first_chunk_threshold":"0s"`, `first_chunk_threshold: got "0s", ` + upToHour},
		{`"first_chunk_threshold":"61m"`, `first_chunk_threshold: got "61m", ` + upToHour},
		{`"dedup_window":"-1ns"`, `dedup_window: got "-1ns", ` + dedup},
		{`"dedup_window":"11m"`, `dedup_window: got "11m", ` + dedup},
		{`"confirm_window":"0s"`, `confirm_window: got "0s", ` + upTo10Min},
		{`"confirm_window":"601s"`, `confirm_window: got "601s", ` + upTo10Min},
		{`"block_ttl":"0s"`, `block_ttl: got "0s", ` + upToHour},
		{`"block_ttl":"2h"`, `block_ttl: got "2h", ` + upToHour},
		{`"block_ttl_max":"0s"`, `block_ttl_max: got "0s", ` + upToHour},
		{`"block_ttl_max":"2h"`, `block_ttl_max: got "2h", ` + upToHour},
		{`"count_aborts_after":"0s"`, `count_aborts_after: got "0s", ` + upToHour},
		{`"count_aborts_after":"-1s"`, `count_aborts_after: got "-1s", ` + upToHour},
		{`"count_aborts_after":"61m"`, `count_aborts_after: got "61m", ` + upToHour},
		{`"count_aborts_after":10`, `count_aborts_after: got 10, want a duration with a unit such as "10s"`},
		{`"count_aborts_after":null`, `count_aborts_after: got null, ` + upToHour},
		{`"count_aborts_after":false`, `count_aborts_after: got false, ` + upToHour},
		{`"stall_threshold":"-1ns"`, `stall_threshold: got "-1ns", ` + stall},
		{`"stall_threshold":"1h0m0.000000001s"`, `stall_threshold: got "1h0m0.000000001s", ` + stall},
		{`"stall_threshold":0`, `stall_threshold: got 0, want a duration with a unit such as "0s"`},
		{`"stall_threshold":false`, `stall_threshold: got false, ` + stall},
		{`"check_interval":"99ms"`, `check_interval: got "99ms", ` + interval},
		{`"check_interval":"61s"`, `check_interval: got "61s", ` + interval},
		{`"check_interval":"-1s"`, `check_interval: got "-1s", ` + interval},

		// Integers.
		{`"confirm_count":0`, `confirm_count: got 0, want an integer from 1 to 20`},
		{`"confirm_count":21`, `confirm_count: got 21, want an integer from 1 to 20`},
		{`"confirm_count":-1`, `confirm_count: got -1, want an integer from 1 to 20`},
		{`"confirm_count":2.5`, `confirm_count: got 2.5, want an integer from 1 to 20`},
		{`"confirm_count":2.0`, `confirm_count: got 2.0, want an integer from 1 to 20`},
		{`"confirm_count":2e0`, `confirm_count: got 2e0, want an integer from 1 to 20`},
		{`"confirm_count":"2"`, `confirm_count: got "2", want an integer from 1 to 20`},
		{`"confirm_count":true`, `confirm_count: got true, want an integer from 1 to 20`},
		{`"confirm_count":null`, `confirm_count: got null, want an integer from 1 to 20`},
		{`"confirm_count":[2]`, `confirm_count: got an array, want an integer from 1 to 20`},
		{`"confirm_count":99999999999999999999`, `confirm_count: got 99999999999999999999, want an integer from 1 to 20`},
		{`"max_blocked_percent":0`, `max_blocked_percent: got 0, want an integer from 1 to 100`},
		{`"max_blocked_percent":101`, `max_blocked_percent: got 101, want an integer from 1 to 100`},
		{`"max_blocked_percent":"50%"`, `max_blocked_percent: got "50%", want an integer from 1 to 100`},
		{`"min_candidates_percent":-1`, `min_candidates_percent: got -1, want an integer from 0 to 100`},
		{`"min_candidates_percent":101`, `min_candidates_percent: got 101, want an integer from 0 to 100`},
		{`"block_ttl_jitter_percent":-1`, `block_ttl_jitter_percent: got -1, want an integer from 0 to 50`},
		{`"block_ttl_jitter_percent":51`, `block_ttl_jitter_percent: got 51, want an integer from 0 to 50`},
		{`"min_slow_percent":-1`, `min_slow_percent: got -1, want an integer from 0 to 100`},
		{`"min_slow_percent":101`, `min_slow_percent: got 101, want an integer from 0 to 100`},
		{`"min_slow_requests":0`, `min_slow_requests: got 0, want an integer from 1 to 10000`},
		{`"min_slow_requests":10001`, `min_slow_requests: got 10001, want an integer from 1 to 10000`},

		// Booleans.
		{`"count_timeouts":"false"`, `count_timeouts: got "false", want true or false`},
		{`"count_timeouts":0`, `count_timeouts: got 0, want true or false`},
		{`"count_timeouts":null`, `count_timeouts: got null, want true or false`},
		{`"count_timeouts":[true]`, `count_timeouts: got an array, want true or false`},

		// Values that depend on each other.
		{`"block_ttl_max":"30s"`, `block_ttl_max: got "30s", want at least "45s" (block_ttl)`},
		{`"block_ttl_max":"1m","block_ttl":"1h"`, `block_ttl_max: got "1m", want at least "1h" (block_ttl)`},
		{`"block_ttl_max":"44999ms"`, `block_ttl_max: got "44.999s", want at least "45s" (block_ttl)`},
		{`"count_aborts_after":"70s"`, `count_aborts_after: got "1m10s", want below "1m10s" ` + patience},
		{`"count_aborts_after":"30s","slow_threshold":"30s"`, `count_aborts_after: got "30s", want below "30s" ` + patience},
		{`"count_aborts_after":"1h"`, `count_aborts_after: got "1h", want below "1m10s" ` + patience},
		{
			`"confirm_window":"14999ms","confirm_count":4`,
			`confirm_window: got "14.999s", want at least "15s" (dedup_window "5s" x (confirm_count 4 - 1))`,
		},
		{
			`"dedup_window":"10m"`,
			`confirm_window: got "5m", want at least "10m" (dedup_window "10m" x (confirm_count 2 - 1))`,
		},

		// Keys.
		{`"slow_treshold":"70s"`, `slow_treshold: got an unknown key, want slow_threshold perhaps`},
		{`"block_ttl_mx":"70s"`, `block_ttl_mx: got an unknown key, want block_ttl_max perhaps`},
		{`"timeout":"70s"`, `timeout: got an unknown key, want one of ` + ownKeysAtTop},
		{`"":1`, `"": got an unknown key, want one of ` + ownKeysAtTop},
		{`"slow threshold":"70s"`, `"slow threshold": got an unknown key, want slow_threshold perhaps`},
		{`"pick":"random","pick":"random"`, `pick: got the key twice, want it once`},
		{`"pick":"random","\u0070ick":"random"`, `pick: got the key twice, want it once`},
		{`"_rules_":[],"_rules_":[]`, `_rules_: got the key twice, want it once`},
		{`"_other_":1,"_other_":2`, `_other_: got the key twice, want it once`},

		// Rules.
		{`"_rules_":{}`, `_rules_: got an object, want an array of objects`},
		{`"_rules_":"x"`, `_rules_: got "x", want an array of objects`},
		{`"_rules_":false`, `_rules_: got false, want an array of objects`},
		{`"_rules_":[{"_match_route_":["a"]},7]`, `_rules_[1]: got 7, want an object`},
		{`"_rules_":[[]]`, `_rules_[0]: got an array, want an object`},
		{`"_rules_":[null]`, `_rules_[0]: got null, want an object`},
		{`"_rules_":[{}]`, `_rules_[0]: got nothing to match, want ` + matchKeys},
		{`"_rules_":[{"_match_route_":[]}]`, `_rules_[0]: got nothing to match, want ` + matchKeys},
		{`"_rules_":[{"_match_service_":null}]`, `_rules_[0]: got nothing to match, want ` + matchKeys},
		{`"_rules_":[{"_match_route_":"a"}]`, `_rules_[0]._match_route_: got "a", want an array of non-empty strings`},
		{`"_rules_":[{"_match_domain_":{"a":1}}]`, `_rules_[0]._match_domain_: got an object, want an array of non-empty strings`},
		{`"_rules_":[{"_match_service_":["a",""]}]`, `_rules_[0]._match_service_[1]: got "", want a non-empty string`},
		{`"_rules_":[{"_match_route_prefix_":[5]}]`, `_rules_[0]._match_route_prefix_[0]: got 5, want a non-empty string`},
		{`"_rules_":[{"_match_route_":["a"],"check_interval":"1s"}]`, `_rules_[0].check_interval: may stand at the top only`},
		{`"_rules_":[{"_match_route_":["a"],"_rules_":[]}]`, `_rules_[0]._rules_: may stand at the top only`},
		{`"_rules_":[{"_match_route_":["a"],"pick":"random","pick":"random"}]`, `_rules_[0].pick: got the key twice, want it once`},
		{`"_rules_":[{"_match_route_":["a"],"_match_route_":["b"]}]`, `_rules_[0]._match_route_: got the key twice, want it once`},
		{`"_rules_":[{"_match_route_":["a"],"pik":"random"}]`, `_rules_[0].pik: got an unknown key, want pick perhaps`},
		{`"_rules_":[{"_match_route_":["a"],"ttl":"1s"}]`, `_rules_[0].ttl: got an unknown key, want one of ` + ownKeysInRules},
		{`"_rules_":[{"_match_route_":["a"],"slow_threshold":70}]`, `_rules_[0].slow_threshold: got 70, want a duration with a unit such as "70s"`},
	} {
		t.Run(c.members, func(t *testing.T) {
			s, err := parseSettings([]byte(`{` + c.members + `}`))
			assert.Nil(t, s)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestAConfigurationThatIsNoObjectIsRefused(t *testing.T) {
	for _, c := range []struct{ name, configuration, want string }{
		{"array", `[]`, `configuration: got an array, want an object`},
		{"string", `"a"`, `configuration: got "a", want an object`},
		{"number", ` 5 `, `configuration: got 5, want an object`},
		{"boolean", `true`, `configuration: got true, want an object`},
		{"white space", " \n", `configuration: got invalid JSON at byte 2 (unexpected end of JSON input), want an object`},
		{"cut off", `{"mode":`, `configuration: got invalid JSON at byte 8 (unexpected end of JSON input), want an object`},
		{"trailing garbage", `{} x`, `configuration: got invalid JSON at byte 4 (invalid character 'x' after top-level value), want an object`},
		{"YAML", "mode: off\n", `configuration: got invalid JSON at byte 1 (invalid character 'm' looking for beginning of value), want an object`},
		{"line break in a string", "{\"a\n", `configuration: got invalid JSON at byte 4 (invalid character '\n' in string literal), want an object`},
		{"too large", `{"_a":"` + strings.Repeat("a", maxConfigurationBytes) + `"}`, `configuration: got 4194313 bytes, want at most 4194304`},
		{"too deep", nested(33), `configuration: got more than 32 nested objects and arrays, want fewer`},
		{"far too deep", nested(20000), `configuration: got invalid JSON at byte 10005 (invalid character '[' exceeded max depth), want an object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSettings([]byte(c.configuration))
			assert.Nil(t, s)
			assert.EqualError(t, err, c.want)
		})
	}
}

// nested returns a configuration in which depth objects and arrays stand in each other.
func nested(depth int) string {
	return `{"_":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

func TestOnlyOpenBracketsOutsideStringsNest(t *testing.T) {
	mustParse(t, `{"_":[`+strings.Repeat(`[],{},`, 40)+`0]}`)
	mustParse(t, nested(32))
	mustParse(t, `{"_":"\"`+strings.Repeat("[", 40)+`\\","_b":[[]],"_c":"`+strings.Repeat("{", 40)+`"}`)
}

func TestAllProblemsAreReportedOnOneLine(t *testing.T) {
	_, err := parseSettings([]byte(`{
		"_rules_": [{"_match_route_": ["a"], "pick": "first", "mode": 1}, 2],
		"confirm_count": 0,
		"block_ttl_max": "1s",
		"slow_threshold": 70
	}`))
	assert.EqualError(t, err, strings.Join([]string{
		`confirm_count: got 0, want an integer from 1 to 20`,
		`slow_threshold: got 70, want a duration with a unit such as "70s"`,
		`block_ttl_max: got "1s", want at least "45s" (block_ttl)`,
		`_rules_[0].pick: got "first", want "round_robin", "random" or "least_request"`,
		`_rules_[0].mode: got 1, want "enforce", "observe" or "off"`,
		`_rules_[1]: got 2, want an object`,
	}, "; "))
}

func TestAtMostTenProblemsAreListed(t *testing.T) {
	const entry = `_rules_[%d]: got 0, want an object`
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprintf(entry, i))
	}

	_, err := parseSettings([]byte(`{"_rules_":[` + strings.Repeat(`0,`, 9) + `0]}`))
	require.EqualError(t, err, strings.Join(ten, "; "))

	_, err = parseSettings([]byte(`{"_rules_":[` + strings.Repeat(`0,`, 12) + `0]}`))
	assert.EqualError(t, err, strings.Join(ten, "; ")+"; and 3 more")
}

func TestGivenTextIsQuotedAndShortened(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ members, want string }{
		{
			`"mode":"a\nfake log line\u001b[31m\u202e"`,
			`mode: got "a\nfake log line\x1b[31m\u202e", want "enforce", "observe" or "off"`,
		},
		{`"mode":"慢"`, `mode: got "慢", want "enforce", "observe" or "off"`},
		{`"mode":"` + long + `"`, `mode: got "` + long[:59] + `..., want "enforce", "observe" or "off"`},
		{`"mode":` + strings.Repeat("1", 100), `mode: got ` + strings.Repeat("1", 60) + `..., want "enforce", "observe" or "off"`},
		{`"mode":"` + strings.Repeat("慢", 1000) + `"`, `mode: got "` + strings.Repeat("慢", 59) + `..., want "enforce", "observe" or "off"`},
		{`"a\nb":1`, `"a\nb": got an unknown key, want one of ` + ownKeysAtTop},
		{`"` + long + `":1`, `"` + long[:59] + `...: got an unknown key, want one of ` + ownKeysAtTop},
	} {
		t.Run(c.members[:min(20, len(c.members))], func(t *testing.T) {
			_, err := parseSettings([]byte(`{` + c.members + `}`))
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestARuleInheritsWhatItDoesNotName(t *testing.T) {
	s := mustParse(t, `{
		"_rules_": [
			{"_match_route_": ["a"]},
			{"_match_domain_": ["*.example.com"], "mode": "enforce", "slow_threshold": "30s", "pick": "random"},
			{"_match_service_": ["llm.dns:443"], "confirm_count": 3}
		],
		"mode": "observe", "slow_threshold": "20s", "measure": "headers", "dedup_window": "1s", "confirm_count": 4,
		"confirm_window": "6m", "block_ttl": "50s", "max_blocked_percent": 50, "min_candidates_percent": 10,
		"override": "always", "pick": "least_request", "return": "probation", "evidence": "shared",
		"count_timeouts": false, "count_aborts_after": "10s", "stall_threshold": "15s", "block_ttl_max": "2m",
		"block_ttl_jitter_percent": 25, "min_slow_percent": 40, "min_slow_requests": 30
	}`).withoutIDs()

	global := rule{
		mode: modeObserve, slowThreshold: 20 * time.Second, firstChunkThreshold: 20 * time.Second, measure: measureHeaders,
		dedupWindow: time.Second, confirmCount: 4, confirmWindow: 6 * time.Minute, blockTTL: 50 * time.Second,
		maxBlockedPercent: 50, minCandidatesPercent: 10, override: overrideAlways, pick: pickLeastRequest,
		returns: returnProbation, evidence: evidenceShared, countAbortsAfter: 10 * time.Second, stallThreshold: 15 * time.Second,
		blockTTLMax: 2 * time.Minute, blockTTLJitterPercent: 25, minSlowPercent: 40, minSlowRequests: 30,
	}
	second, third := global, global
	second.mode, second.slowThreshold, second.firstChunkThreshold, second.pick = modeEnforce, 30*time.Second, 30*time.Second, pickRandom
	third.confirmCount = 3

	assert.Equal(t, &global, s.global)
	assert.Equal(t, []*rule{&global, &second, &third}, s.rules)
	assert.NotSame(t, s.global, s.rules[0], "every rule has an identity of its own")
	assert.Empty(t, s.warnings)
}

func TestFirstChunkThresholdFollowsTheRulesOwnSlowThreshold(t *testing.T) {
	const entry = `"_rules_":[{"_match_route_":["a"],"slow_threshold":"30s"}]`

	s := mustParse(t, `{"slow_threshold":"20s",`+entry+`}`)
	assert.Equal(t, 30*time.Second, s.rules[0].firstChunkThreshold, "nobody names it")

	s = mustParse(t, `{"first_chunk_threshold":"10s",`+entry+`}`)
	assert.Equal(t, 10*time.Second, s.rules[0].firstChunkThreshold, "the global part names it")
}

func TestBlockTTLMaxFollowsTheRulesOwnBlockTTL(t *testing.T) {
	const entry = `"_rules_":[{"_match_route_":["a"],"block_ttl":"30s"}]`

	s := mustParse(t, `{"block_ttl":"50s",`+entry+`}`)
	assert.Equal(t, 30*time.Second, s.rules[0].blockTTLMax, "nobody names it")
	assert.Equal(t, 50*time.Second, s.global.blockTTLMax)

	s = mustParse(t, `{"block_ttl_max":"45s",`+entry+`}`)
	assert.Equal(t, 45*time.Second, s.rules[0].blockTTLMax, "the global part names it")
}

func TestAClientLeavesBeforeTheThresholdOfTheRulesOwnMeasure(t *testing.T) {
	const thresholds = `"slow_threshold":"30s","first_chunk_threshold":"10s",`
	for _, c := range []struct{ members, most, tooMuch string }{
		{thresholds + `"measure":"auto",`, "29.999s", "30s"},
		{thresholds + `"measure":"headers",`, "29.999s", "30s"},
		{thresholds + `"measure":"first_chunk",`, "9.999s", "10s"},
		{`"first_chunk_threshold":"80s",`, "1m19.999s", "1m20s"},
		{`"first_chunk_threshold":"80s","measure":"headers",`, "1m9.999s", "1m10s"},
		{`"measure":"first_chunk",`, "1m9.999s", "1m10s"},
	} {
		t.Run(c.members, func(t *testing.T) {
			s := mustParse(t, `{`+c.members+`"count_aborts_after":"`+c.most+`"}`)
			assert.Equal(t, c.most, s.global.countAbortsAfter.String())
			_, err := parseSettings([]byte(`{` + c.members + `"count_aborts_after":"` + c.tooMuch + `"}`))
			assert.EqualError(t, err, `count_aborts_after: got "`+c.tooMuch+`", want below "`+c.tooMuch+`" `+patience)
		})
	}
}

func TestDependentValuesAreCheckedOnTheEffectiveRule(t *testing.T) {
	for _, c := range []struct{ name, configuration, want string }{
		{
			"one value inherited, one its own",
			`{"confirm_window":"160s","_rules_":[{"_match_route_":["a"],"dedup_window":"3m"}]}`,
			`_rules_[0].confirm_window: got "2m40s", want at least "3m" (dedup_window "3m" x (confirm_count 2 - 1))`,
		},
		{
			"what a rule inherits is said once, at the top",
			`{"dedup_window":"6m","_rules_":[{"_match_route_":["a"]},{"_match_route_":["b"],"pick":"random"}]}`,
			`confirm_window: got "5m", want at least "6m" (dedup_window "6m" x (confirm_count 2 - 1))`,
		},
		{
			"a rule that makes it worse has a problem of its own",
			`{"dedup_window":"6m","_rules_":[{"_match_route_":["a"],"confirm_count":3}]}`,
			`confirm_window: got "5m", want at least "6m" (dedup_window "6m" x (confirm_count 2 - 1)); ` +
				`_rules_[0].confirm_window: got "5m", want at least "12m" (dedup_window "6m" x (confirm_count 3 - 1))`,
		},
		{
			"nothing is concluded from a value that was refused",
			`{"dedup_window":"6m","confirm_window":5,"_rules_":[{"_match_route_":["a"]}]}`,
			`confirm_window: got 5, want a duration with a unit such as "5s"`,
		},
		{
			"a rule that names the refused value itself is judged",
			`{"dedup_window":"6m","confirm_window":5,"_rules_":[{"_match_route_":["a"],"confirm_window":"5m"}]}`,
			`confirm_window: got 5, want a duration with a unit such as "5s"; ` +
				`_rules_[0].confirm_window: got "5m", want at least "6m" (dedup_window "6m" x (confirm_count 2 - 1))`,
		},
		{
			"a value refused in one rule says nothing about the next",
			`{"_rules_":[{"_match_route_":["a"],"block_ttl":1},{"_match_route_":["b"],"block_ttl_max":"1s"}]}`,
			`_rules_[0].block_ttl: got 1, want a duration with a unit such as "1s"; ` +
				`_rules_[1].block_ttl_max: got "1s", want at least "45s" (block_ttl)`,
		},
		{
			"growth that is inherited has to fit the rule's own TTL",
			`{"block_ttl_max":"1m","_rules_":[{"_match_route_":["a"],"block_ttl":"61s"}]}`,
			`_rules_[0].block_ttl_max: got "1m", want at least "1m1s" (block_ttl)`,
		},
		{
			"so has the patience of clients the rule's own threshold",
			`{"count_aborts_after":"30s","_rules_":[{"_match_route_":["a"],"slow_threshold":"20s"}]}`,
			`_rules_[0].count_aborts_after: got "30s", want below "20s" ` + patience,
		},
		{
			"and its own measure",
			`{"count_aborts_after":"30s","first_chunk_threshold":"20s","_rules_":[{"_match_route_":["a"],"measure":"first_chunk"}]}`,
			`_rules_[0].count_aborts_after: got "30s", want below "20s" ` + patience,
		},
		{
			"no threshold is concluded from a measure that was refused",
			`{"count_aborts_after":"30s","measure":"headers","slow_threshold":"40s",` +
				`"_rules_":[{"_match_route_":["a"],"measure":"first-chunk","slow_threshold":"20s","first_chunk_threshold":"40s"}]}`,
			`_rules_[0].measure: got "first-chunk", want "auto", "headers" or "first_chunk" (nearest: first_chunk)`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseSettings([]byte(c.configuration))
			assert.EqualError(t, err, c.want)
		})
	}
	s := mustParse(t, `{"dedup_window":"2m","confirm_count":3,"_rules_":[{"_match_route_":["a"],"dedup_window":"3m","confirm_count":2}]}`)
	assert.Equal(t, 3*time.Minute, s.rules[0].dedupWindow, "the product counts, not the single values")
}

func TestWarnings(t *testing.T) {
	const lone = `want at least "2m20s" (slow_threshold "1m10s" x confirm_count 2): a lone client could never confirm`
	for _, c := range []struct {
		name, configuration string
		want                []string
	}{
		{"a window exactly long enough", `{"confirm_window":"140s"}`, nil},
		{"a window too short for a lone client", `{"confirm_window":"139s"}`, []string{`confirm_window: got "2m19s", ` + lone}},
		{"rules that inherit it", `{"confirm_window":"2m","_rules_":[{"_match_route_":["a"]},{"_match_route_":["b"],"pick":"random"}]}`, []string{`confirm_window: got "2m", ` + lone}},
		{"a rule of its own", `{"_rules_":[{"_match_route_":["a"]},{"_match_route_":["b"],"confirm_window":"1m"}]}`, []string{`_rules_[1].confirm_window: got "1m", ` + lone}},
		{
			"a rule with other values than the global part",
			`{"confirm_window":"2m","_rules_":[{"_match_route_":["a"],"slow_threshold":"10m"}]}`,
			[]string{
				`confirm_window: got "2m", ` + lone,
				`_rules_[0].confirm_window: got "2m", want at least "20m" (slow_threshold "10m" x confirm_count 2): a lone client could never confirm`,
			},
		},
		{"the gateway's keys", `{"_plugin_id_":"x","_rules_":[{"_match_route_":["a"],"_match_service_":["c"],"_plugin_id_":"x"},{"_match_domain_":["b"]},{"_match_route_prefix_":["d"]}]}`, nil},
		{
			"names beside a route that the gateway does not look at",
			`{"_rules_":[{"_match_route_":["a"],"_match_domain_":["b"],"_match_service_":["c"],"_match_route_prefix_":["d"]}]}`,
			[]string{
				`_rules_[0]._match_domain_: ignored by the gateway beside _match_route_`,
				`_rules_[0]._match_route_prefix_: ignored by the gateway beside _match_route_`,
			},
		},
		{
			"names beside a domain that the gateway does not look at",
			`{"_rules_":[{"_match_service_":["c"],"_match_domain_":["b"]},{"_match_service_":["c"],"_match_route_prefix_":["d"]}]}`,
			[]string{
				`_rules_[0]._match_service_: ignored by the gateway beside _match_domain_`,
				`_rules_[1]._match_route_prefix_: ignored by the gateway beside _match_service_`,
			},
		},
		{
			"a domain with a port",
			`{"_rules_":[{"_match_domain_":["llm.example:443","*.example"]}]}`,
			[]string{`_rules_[0]._match_domain_: got "llm.example:443", want it without a port: the gateway compares hosts only`},
		},
		{"a number of requests beside a percentage", `{"min_slow_percent":1,"min_slow_requests":20}`, nil},
		{"a number of requests that is the default", `{"min_slow_requests":10}`, nil},
		{"a number of requests without a percentage", `{"min_slow_requests":20}`, []string{`min_slow_requests: has no effect while min_slow_percent is 0`}},
		{"one that rules inherit", `{"min_slow_requests":20,"_rules_":[{"_match_route_":["a"]}]}`, []string{`min_slow_requests: has no effect while min_slow_percent is 0`}},
		{"one for a rule with a percentage", `{"min_slow_requests":20,"_rules_":[{"_match_route_":["a"]},{"_match_route_":["b"],"min_slow_percent":5}]}`, nil},
		{"one for the others than a rule without a percentage", `{"min_slow_requests":20,"min_slow_percent":5,"_rules_":[{"_match_route_":["a"],"min_slow_percent":0}]}`, nil},
		{"one of a rule without a percentage", `{"_rules_":[{"_match_route_":["a"],"min_slow_requests":9}]}`, []string{`_rules_[0].min_slow_requests: has no effect while min_slow_percent is 0`}},
		{"one of a rule that inherits a percentage", `{"min_slow_percent":5,"_rules_":[{"_match_route_":["a"],"min_slow_requests":9}]}`, nil},
		{"a null for one of the match keys", `{"_rules_":[{"_match_route_":["a"],"_match_domain_":null}]}`, nil},
		{"a key that the gateway may know", `{"_other_":1,"_rules_":[{"_match_route_":["a"],"_new\n_":2}]}`, []string{`_other_: unknown key, ignored`, `_rules_[0]."_new\n_": unknown key, ignored`}},
		{"a key nearly the gateway's", `{"_rule_":[]}`, []string{`_rule_: unknown key, ignored (nearest: _rules_)`}},
		{"a match key at the top", `{"_match_route_":["a"]}`, []string{`_match_route_: ignored, may stand in an entry of _rules_ only`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, mustParse(t, c.configuration).warnings)
		})
	}
}

func TestTheLongestTimesOfAllRules(t *testing.T) {
	for _, c := range []struct {
		name, configuration string
		threshold, ttl      time.Duration
	}{
		{"defaults", `{}`, 70 * time.Second, 45 * time.Second},
		{"the global part's", `{"slow_threshold":"2m","block_ttl":"3m","_rules_":[{"_match_route_":["a"],"slow_threshold":"1m","block_ttl":"1m"}]}`, 2 * time.Minute, 3 * time.Minute},
		{"a rule's", `{"mode":"off","_rules_":[{"_match_route_":["a"],"slow_threshold":"5m","block_ttl":"6m"},{"_match_route_":["b"]}]}`, 5 * time.Minute, 6 * time.Minute},
		{"growth, the global part's", `{"block_ttl_max":"7m","_rules_":[{"_match_route_":["a"],"block_ttl_max":"6m"}]}`, 70 * time.Second, 7 * time.Minute},
		{"growth, a rule's", `{"block_ttl":"3m","_rules_":[{"_match_route_":["a"],"block_ttl":"1m","block_ttl_max":"6m"}]}`, 70 * time.Second, 6 * time.Minute},
		{"the first chunk's", `{"first_chunk_threshold":"4m"}`, 4 * time.Minute, 45 * time.Second},
		{"no global part: its defaults don't count", `{"_rules_":[{"_match_route_":["a"],"slow_threshold":"10s","block_ttl":"20s"}]}`, 10 * time.Second, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, c.configuration)
			assert.Equal(t, c.threshold, s.longestThreshold())
			assert.Equal(t, c.ttl, s.longestBlockTTL())
		})
	}
}

func TestTheGlobalPartExistsWhenTheGatewaySeesOne(t *testing.T) {
	const entries = `"_rules_":[{"_match_route_":["a"]},{"_match_domain_":["*"]}]`
	for _, c := range []struct {
		members string
		global  bool
	}{
		{entries, false},
		{`"_plugin_id_":"x",` + entries, false},
		{entries + `,"_plugin_id_":"x"`, false},
		{`"_plugin_id_":"",` + entries, true},
		{`"_plugin_id_":null,` + entries, true},
		{`"_plugin_id_":false,` + entries, false},
		{`"mode":"off",` + entries, true},
		{entries + `,"check_interval":"1s"`, true},
		{`"_other_":1,` + entries, true},
	} {
		t.Run(c.members, func(t *testing.T) {
			s := mustParse(t, `{`+c.members+`}`)
			assert.Equal(t, c.global, s.global != nil)
			assert.Len(t, s.rules, 2)
			requireGatewayAgrees(t, []byte(`{`+c.members+`}`), s)
		})
	}
}

type pluginContextStub struct{ iface.PluginContext }

func (pluginContextStub) IsRuleLevelConfigIsolation() bool { return false }

// requireGatewayAgrees gives an accepted configuration with rules to the
// gateway's own rule matcher. Without rules the gateway refuses some
// configurations that mean all defaults; there only a global part is required.
func requireGatewayAgrees(t *testing.T, configuration []byte, s *settings) {
	t.Helper()
	if len(s.rules) == 0 {
		require.NotNil(t, s.global)
		return
	}
	hasGlobal, rules := false, 0
	var m matcher.RuleMatcher[struct{}]
	err := m.ParseRuleConfig(pluginContextStub{}, gjson.Parse(withoutPluginID(configuration)),
		func(gjson.Result, *struct{}) error { hasGlobal = true; return nil },
		func(gjson.Result, struct{}, *struct{}) error { rules++; return nil })
	require.NoError(t, err)
	require.Equal(t, hasGlobal, s.global != nil)
	require.Len(t, s.rules, rules)
}

// withoutPluginID does what the gateway does before it matches rules.
func withoutPluginID(configuration []byte) string {
	var members []string
	gjson.ParseBytes(configuration).ForEach(func(key, value gjson.Result) bool {
		if key.Str != "_plugin_id_" || value.String() == "" {
			members = append(members, key.Raw+":"+value.Raw)
		}
		return true
	})
	return `{` + strings.Join(members, ",") + `}`
}

func TestWhatIsInForceIsShownOnOneLine(t *testing.T) {
	const defaults = "rules=0 check_interval=500ms mode=enforce slow_threshold=1m10s first_chunk_threshold=1m10s measure=auto " +
		"dedup_window=5s confirm_count=2 confirm_window=5m block_ttl=45s block_ttl_max=45s max_blocked_percent=100 " +
		"min_candidates_percent=20 override=when_blocked pick=round_robin return=full evidence=worker count_timeouts=true"
	assert.Equal(t, defaults, mustParse(t, `{}`).String())
	for members, shown := range map[string]string{
		`"stall_threshold":"30s"`:                             "stall_threshold=30s",
		`"count_aborts_after":"1m"`:                           "count_aborts_after=1m",
		`"min_slow_percent":50`:                               "min_slow_percent=50 min_slow_requests=10",
		`"min_slow_requests":20,"min_slow_percent":1`:         "min_slow_percent=1 min_slow_requests=20",
		`"block_ttl_jitter_percent":10`:                       "block_ttl_jitter_percent=10",
		`"block_ttl_jitter_percent":1,"stall_threshold":"1s"`: "stall_threshold=1s block_ttl_jitter_percent=1",
	} {
		assert.Equal(t, defaults+" "+shown, mustParse(t, `{`+members+`}`).String())
	}
	assert.Equal(t, "rules=1 check_interval=0s other requests are left alone",
		mustParse(t, `{"_rules_":[{"_match_route_":["a"]}]}`).withoutTicks().String())
}

func (s *settings) withoutTicks() *settings {
	s.checkInterval = 0
	return s
}

// A rule's id tells its evidence in SharedData from another's.
func TestARuleIsKnownAgainByWhatItSaysAndWhomItMatches(t *testing.T) {
	ids := func(configuration string) []string {
		s := mustParse(t, configuration)
		var ids []string
		for _, r := range s.rules {
			ids = append(ids, r.id)
		}
		if s.global != nil {
			ids = append(ids, s.global.id)
		}
		return ids
	}
	const routeA, routeB = `{"_match_route_":["a"],"slow_threshold":"30s"}`, `{"_match_route_":["b"],"slow_threshold":"30s"}`
	known := ids(`{"pick":"random","_rules_":[` + routeA + `,` + routeB + `]}`)
	a, b, global := known[0], known[1], known[2]
	require.Len(t, map[string]bool{a: true, b: true, global: true, "": true}, 4)

	for name, c := range map[string]struct {
		configuration string
		want          []string
	}{
		"in another worker":                         {`{"pick":"random","_rules_":[` + routeA + `,` + routeB + `]}`, []string{a, b, global}},
		"in another order":                          {`{"_rules_":[` + routeB + `,` + routeA + `],"pick":"random"}`, []string{b, a, global}},
		"another rule is gone":                      {`{"pick":"random","_rules_":[` + routeB + `]}`, []string{b, global}},
		"all that it inherits is its own":           {`{"_rules_":[{"pick":"random",` + routeA[1:] + `]}`, []string{a}},
		"the keys in another order, a default said": {`{"_rules_":[{"slow_threshold":"30000ms","mode":"enforce","_match_route_":["a"],"pick":"random"}]}`, []string{a}},
		"another check_interval":                    {`{"check_interval":"1s","pick":"random"}`, []string{global}},
	} {
		assert.Equal(t, c.want, ids(c.configuration), name)
	}
	for name, configuration := range map[string]string{
		"what it inherits has changed": `{"_rules_":[` + routeA + `]}`,
		"another threshold":            `{"pick":"random","_rules_":[{"_match_route_":["a"],"slow_threshold":"31s"}]}`,
		"it observes":                  `{"pick":"random","mode":"observe","_rules_":[` + routeA + `]}`,
		"another name":                 `{"pick":"random","_rules_":[{"_match_route_":["c"],"slow_threshold":"30s"}]}`,
		"one more name":                `{"pick":"random","_rules_":[{"_match_route_":["a","b"],"slow_threshold":"30s"}]}`,
		"another kind of name":         `{"pick":"random","_rules_":[{"_match_domain_":["a"],"slow_threshold":"30s"}]}`,
	} {
		assert.NotContains(t, known[:2], ids(configuration)[0], name)
	}
}
