package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireWithinLimits checks a rule against the limits of the configuration table.
func requireWithinLimits(t require.TestingT, r *rule) {
	const nothing = time.Duration(0)
	require.Contains(t, []mode{modeEnforce, modeObserve, modeOff}, r.mode)
	require.Contains(t, []measure{measureAuto, measureHeaders, measureFirstChunk}, r.measure)
	require.Contains(t, []overrideWhen{overrideWhenBlocked, overrideAlways}, r.override)
	require.Contains(t, []pickPolicy{pickRoundRobin, pickRandom, pickLeastRequest}, r.pick)
	require.Contains(t, []returnPolicy{returnFull, returnProbation}, r.returns)
	require.Contains(t, []evidencePolicy{evidenceWorker, evidenceShared}, r.evidence)

	for _, d := range []time.Duration{r.slowThreshold, r.firstChunkThreshold, r.blockTTL, r.blockTTLMax} {
		require.Greater(t, d, nothing)
		require.LessOrEqual(t, d, time.Hour)
	}
	require.GreaterOrEqual(t, r.blockTTLMax, r.blockTTL)
	require.GreaterOrEqual(t, r.stallThreshold, nothing)
	require.LessOrEqual(t, r.stallThreshold, time.Hour)
	require.GreaterOrEqual(t, r.countAbortsAfter, nothing)
	require.Less(t, r.countAbortsAfter, specifiedPatience(r))
	require.GreaterOrEqual(t, r.dedupWindow, nothing)
	require.Greater(t, r.confirmWindow, nothing)
	require.LessOrEqual(t, r.confirmWindow, 10*time.Minute)
	require.GreaterOrEqual(t, r.confirmWindow, r.dedupWindow*time.Duration(r.confirmCount-1))

	for _, n := range []struct{ got, least, most int }{
		{r.confirmCount, 1, 20},
		{r.maxBlockedPercent, 1, 100},
		{r.minCandidatesPercent, 0, 100},
		{r.blockTTLJitterPercent, 0, 50},
		{r.minSlowPercent, 0, 100},
		{r.minSlowRequests, 1, 10_000},
	} {
		require.GreaterOrEqual(t, n.got, n.least)
		require.LessOrEqual(t, n.got, n.most)
	}
	require.NotEmpty(t, r.id)
}

func FuzzParseSettings(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `"a"`, `1`, `{"_rules_":[]}`, `{"_rules_":null}`, `{"_rules_":7}`, `{"_plugin_id_":"x","_rules_":[]}`,
		`{"mode":"observe","measure":"headers","override":"always","pick":"random","return":"full","evidence":"worker","count_timeouts":false}`,
		`{"slow_threshold":"70s","first_chunk_threshold":"1m30s","dedup_window":"0s","confirm_window":"10m","block_ttl":"45s","block_ttl_max":"45s","check_interval":"100ms"}`,
		`{"block_ttl_max":"1h","block_ttl_jitter_percent":50,"min_slow_percent":100,"min_slow_requests":10000,"return":"probation","evidence":"shared"}`,
		`{"count_timeouts":true,"count_aborts_after":"60s","stall_threshold":"0s","_rules_":[{"_match_route_":["a"],"slow_threshold":"60s"}]}`,
		`{"min_slow_requests":1,"_rules_":[{"_match_route_":["a"],"min_slow_requests":2}]}`,
		`{"confirm_count":20,"max_blocked_percent":1,"min_candidates_percent":0}`,
		`{"_rules_":[{"_match_route_":["a"],"slow_threshold":"30s"},{"_match_domain_":["*.b"],"_match_service_":["c:80"]},{"_match_route_prefix_":["d"]}]}`,
		`{"_plugin_id_":"","mode":"off","_rules_":[{"_match_service_":["s"],"mode":"enforce","_x_":1}]}`,
		`{"slow_threshold":70,"dedup_window":"0","confirm_count":"2","block_ttl_max":"1s","return":"probation","slow_treshold":1}`,
		`{"dedup_window":"10m","_rules_":[{"_match_route_":["a"],"confirm_count":1},{},7,{"_rules_":[]}]}`,
		`{"a":1,"\u0061":2}`, `{"_":"\ud800"}`, `{"mode":"` + "\xff\xfe" + `"}`, `{"_a":[[[[{}]]]]}`, `{"slow_threshold":"9223372036s"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, configuration []byte) {
		s, err := parseSettings(configuration)
		again, errAgain := parseSettings(configuration)
		require.Equal(t, s, again)
		require.Equal(t, err, errAgain)

		if err != nil {
			require.Nil(t, s)
			requirePrintableLine(t, err.Error())
			return
		}
		for _, warning := range s.warnings {
			requirePrintableLine(t, warning)
		}
		if s.checkInterval != 0 {
			require.GreaterOrEqual(t, s.checkInterval, 100*time.Millisecond)
		}
		if s.global != nil {
			requireWithinLimits(t, s.global)
		}
		for _, r := range s.rules {
			requireWithinLimits(t, r)
		}
		requireGatewayAgrees(t, configuration, s)
	})
}

func requirePrintableLine(t *testing.T, text string) {
	t.Helper()
	require.NotEmpty(t, text)
	require.False(t, strings.ContainsFunc(text, unicode.IsControl), "%q", text)
	require.Less(t, len(text), 10_000)
}

// namedValues is what one object of a configuration says: its members as JSON, and
// the changes that they make to a rule.
type namedValues struct {
	members map[string]string
	changes map[string]func(*rule)
}

func (n namedValues) name(key string, value any, change func(*rule)) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	n.members[key] = string(text)
	n.changes[key] = change
}

func (n namedValues) applyTo(r rule) rule {
	for _, change := range n.changes {
		change(&r)
	}
	return r
}

// object writes the members in random order.
func (n namedValues) object(t *rapid.T) string {
	keys := rapid.Permutation(slices.Sorted(maps.Keys(n.members))).Draw(t, "order")
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = `"` + key + `":` + n.members[key]
	}
	return "{" + strings.Join(texts, " ,\n") + "}"
}

// drawValues names some of the keys. What defaults to another value of the rule stays zero in it
// while nobody names it.
func drawValues(t *rapid.T) namedValues {
	n := namedValues{members: map[string]string{}, changes: map[string]func(*rule){}}
	named := func(key string) bool { return rapid.Bool().Draw(t, "names "+key) }
	drawDuration := func(key string, least, most time.Duration, set func(*rule, time.Duration)) {
		if !named(key) {
			return
		}
		d := time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, key))
		n.name(key, d.String(), func(r *rule) { set(r, d) })
	}
	drawInteger := func(key string, least, most int, set func(*rule, int)) {
		if !named(key) {
			return
		}
		i := rapid.IntRange(least, most).Draw(t, key)
		n.name(key, i, func(r *rule) { set(r, i) })
	}
	drawName := func(key string, names []string, set func(*rule, int)) {
		if !named(key) {
			return
		}
		i := rapid.IntRange(0, len(names)-1).Draw(t, key)
		n.name(key, names[i], func(r *rule) { set(r, i) })
	}

	drawName("mode", []string{"enforce", "observe", "off"}, func(r *rule, i int) { r.mode = mode(i) })
	drawDuration("slow_threshold", 1, time.Hour, func(r *rule, d time.Duration) { r.slowThreshold = d })
	drawDuration("first_chunk_threshold", 1, time.Hour, func(r *rule, d time.Duration) { r.firstChunkThreshold = d })
	drawName("measure", []string{"auto", "headers", "first_chunk"}, func(r *rule, i int) { r.measure = measure(i) })
	drawDuration("dedup_window", 0, 30*time.Second, func(r *rule, d time.Duration) { r.dedupWindow = d })
	drawInteger("confirm_count", 1, 20, func(r *rule, i int) { r.confirmCount = i })
	drawDuration("confirm_window", 1, 10*time.Minute, func(r *rule, d time.Duration) { r.confirmWindow = d })
	drawDuration("block_ttl", 1, time.Hour, func(r *rule, d time.Duration) { r.blockTTL = d })
	drawInteger("max_blocked_percent", 1, 100, func(r *rule, i int) { r.maxBlockedPercent = i })
	drawInteger("min_candidates_percent", 0, 100, func(r *rule, i int) { r.minCandidatesPercent = i })
	drawName("override", []string{"when_blocked", "always"}, func(r *rule, i int) { r.override = overrideWhen(i) })
	drawName("pick", []string{"round_robin", "random", "least_request"}, func(r *rule, i int) { r.pick = pickPolicy(i) })
	drawName("return", []string{"full", "probation"}, func(r *rule, i int) { r.returns = returnPolicy(i) })
	drawName("evidence", []string{"worker", "shared"}, func(r *rule, i int) { r.evidence = evidencePolicy(i) })
	drawDuration("block_ttl_max", 1, time.Hour, func(r *rule, d time.Duration) { r.blockTTLMax = d })
	drawInteger("block_ttl_jitter_percent", 0, 50, func(r *rule, i int) { r.blockTTLJitterPercent = i })
	drawInteger("min_slow_percent", 0, 100, func(r *rule, i int) { r.minSlowPercent = i })
	drawInteger("min_slow_requests", 1, 10_000, func(r *rule, i int) { r.minSlowRequests = i })
	drawDuration("count_aborts_after", 1, time.Hour, func(r *rule, d time.Duration) { r.countAbortsAfter = d })
	drawDuration("stall_threshold", 0, time.Hour, func(r *rule, d time.Duration) { r.stallThreshold = d })
	if named("count_timeouts") {
		counted := rapid.Bool().Draw(t, "count_timeouts")
		n.name("count_timeouts", counted, func(r *rule) { r.countTimeouts = counted })
	}
	return n
}

// makeValid names what else is needed to make a rule valid that inherits from
// parent, and returns the rule.
func makeValid(n namedValues, parent rule) rule {
	r := n.applyTo(parent)
	if r.confirmWindow < r.dedupWindow*time.Duration(r.confirmCount-1) {
		n.name("confirm_window", "10m", func(r *rule) { r.confirmWindow = 10 * time.Minute })
	}
	if r.blockTTLMax > 0 && r.blockTTLMax < r.blockTTL {
		ttl := r.blockTTL
		n.name("block_ttl_max", ttl.String(), func(r *rule) { r.blockTTLMax = ttl })
	}
	if patience := specifiedPatience(withDependentDefaults(r)); r.countAbortsAfter >= patience {
		after := max(patience/2, 1)
		n.name("count_aborts_after", after.String(), func(r *rule) { r.countAbortsAfter = after })
		if after == patience { // a threshold of 1ns leaves no room for an abort
			n.name("measure", "headers", func(r *rule) { r.measure = measureHeaders })
			n.name("slow_threshold", "2ns", func(r *rule) { r.slowThreshold = 2 })
		}
	}
	return n.applyTo(parent)
}

// specifiedPatience is how long a request waits for its answer at most before it is a sample.
func specifiedPatience(r *rule) time.Duration {
	return map[measure]time.Duration{
		measureAuto:       max(r.slowThreshold, r.firstChunkThreshold),
		measureHeaders:    r.slowThreshold,
		measureFirstChunk: r.firstChunkThreshold,
	}[r.measure]
}

func withDependentDefaults(r rule) *rule {
	if r.firstChunkThreshold == 0 {
		r.firstChunkThreshold = r.slowThreshold
	}
	if r.blockTTLMax == 0 {
		r.blockTTLMax = r.blockTTL
	}
	return &r
}

func TestAValidConfigurationIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		defaults := specifiedDefaults()
		defaults.firstChunkThreshold, defaults.blockTTLMax = 0, 0
		want := settings{checkInterval: 500 * time.Millisecond}

		top := drawValues(t)
		global := makeValid(top, defaults)
		if rapid.Bool().Draw(t, "names check_interval") {
			want.checkInterval = time.Duration(rapid.Int64Range(int64(100*time.Millisecond), int64(time.Minute)).Draw(t, "check_interval"))
			top.name("check_interval", want.checkInterval.String(), func(*rule) {})
		}
		hasGlobal := len(top.members) > 0

		var entries []string
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			own := drawValues(t)
			r := makeValid(own, global)
			own.name("_match_route_", []string{"a"}, func(*rule) {})
			entries = append(entries, own.object(t))
			want.rules = append(want.rules, withDependentDefaults(r))
		}
		if len(entries) > 0 {
			top.members["_rules_"] = "[" + strings.Join(entries, ",") + "]"
		}
		if hasGlobal || len(entries) == 0 {
			want.global = withDependentDefaults(global)
		}

		configuration := top.object(t)
		got, err := parseSettings([]byte(configuration))
		require.NoError(t, err, configuration)
		got.warnings = nil
		require.Equal(t, &want, got.withoutIDs(), configuration)
	})
}
