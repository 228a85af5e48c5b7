package sim_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
)

// spoil is one way to break the breaker. The scenarios are worth what they notice.
type spoil struct {
	name  string
	edits []edit
	// scenarios are tried in this order up to the first that fails; without a folder
	// they are in scenarios/.
	scenarios []string
}

// edit is a plugintest.Edit, short enough for a table.
type edit struct{ file, old, replacement string }

func (s spoil) forBuild() []plugintest.Edit {
	var edits []plugintest.Edit
	for _, e := range s.edits {
		edits = append(edits, plugintest.Edit{File: e.file, Old: e.old, New: e.replacement})
	}
	return edits
}

func spoils() []spoil {
	return []spoil{
		{
			"no dedup window: a burst is as many samples",
			[]edit{{"dedup.go", "return s.probe || window == 0 || e.lastCounted == unknown || s.reached.since(e.lastCounted) >= window", "return true"}},
			[]string{"burst-hangs"},
		},
		{
			"the dedup window is opened by what it swallows, too",
			[]edit{{"breaker.go", "\tif !evidence.admits(s, r.dedupWindow) {\n", "\tif !evidence.admits(s, r.dedupWindow) {\n\t\tevidence.lastCounted = s.reached\n"}},
			[]string{"hanging-host-defaults"},
		},
		{
			"no confirm window: samples are never forgotten",
			[]edit{{"dedup.go", "\te.keep(func(old sample) bool { return s.reached.since(old.reached) <= window })\n", ""}},
			[]string{"hiccups-far-apart"},
		},
		{
			"one sample blocks",
			[]edit{
				{"breaker.go", "len(counted.counted) >= r.confirmCount && own.isSlow(r, now)", "len(counted.counted) >= 1 && own.isSlow(r, now)"},
			},
			[]string{"burst-hangs"},
		},
		{
			"no CAS: the last one to write wins",
			[]edit{{"shareddata_host.go", "proxywasm.SetSharedData(key, value, cas)", "proxywasm.SetSharedData(key, value, 0)"}},
			[]string{"two-workers-write-at-once"},
		},
		{
			"evidence is not looked at again after a lost race",
			[]edit{{"breaker.go", "\t\tevidence.keepStartedSince(known.Since)\n\t\tif !r.confirmed(", "\t\tif !r.confirmed("}},
			[]string{"one-fault-two-workers"},
		},
		{
			"a worker obeys only the blocks that it has written itself",
			[]edit{
				{"shareddata_cas.go", "\tparsed D ", "\tparsed, own D "},
				{"shareddata_cas.go", "\td.reset()\n\treturn d\n", "\td.reset()\n\td.own = d.parsed\n\treturn d\n"},
				{"shareddata_cas.go", "\t\tif err == nil {\n\t\t\treturn conflicts, nil", "\t\tif err == nil {\n\t\t\td.own = next\n\t\t\treturn conflicts, nil"},
				{"callbacks.go", "list, err := p.breaker.store.read(now)", "list, err := p.breaker.store.own, error(nil)"},
			},
			[]string{"uneven-workers"},
		},
		{
			"requests from before a block count after it",
			[]edit{
				{"breaker.go", "if s.started < known.Since {", "if false {"},
				{"dedup.go", "e.keep(func(old sample) bool { return old.started >= since })", "_ = since"},
			},
			[]string{"one-slow-host"},
		},
		{
			"503 when nobody is left",
			[]edit{{"callbacks.go", "\tif chosen.address == \"\" {\n", "\tif chosen.bypass {\n\t\t_ = proxywasm.SendHttpResponse(503, nil, []byte{}, -1)\n\t\treturn types.ActionPause\n\t}\n\tif chosen.address == \"\" {\n"}},
			[]string{"one-endpoint-only"},
		},
		{
			"no bypass: a blocked host is chosen when nobody else is left",
			[]edit{{
				"filter.go", "\tif len(s.candidates) == 0 || len(s.candidates)*100",
				"\tif len(s.candidates) == 0 {\n\t\tfor _, h := range hosts {\n\t\t\ts.candidates = append(s.candidates, h.address)\n\t\t}\n\t}\n\tif len(s.candidates)*100",
			}},
			[]string{"one-endpoint-only"},
		},
		{
			"the count goes on after a block or an extension",
			[]edit{{"breaker.go", "\t\tevidence.reset()\n", ""}},
			[]string{"one-endpoint-only"},
		},
		{
			"a block is never extended",
			[]edit{{"breaker.go", "\t\tknown.Until = max(known.Until, now.add(b.ttl(r, known.Strikes)))\n", ""}},
			[]string{"one-endpoint-only"},
		},
		{
			"an extension may shorten",
			[]edit{{"breaker.go", "max(known.Until, now.add(b.ttl(r, known.Strikes)))", "now.add(b.ttl(r, known.Strikes))"}},
			[]string{"blocks-never-get-shorter"},
		},
		{
			"the TTL is ignored",
			[]edit{{"breaker.go", "now, now.add(b.ttl(r, about.Strikes))", "now, now.add(10*time.Minute)"}},
			[]string{"slow-again-after-ttl"},
		},
		{
			"a shorter TTL does not hold for the blocks that are there",
			[]edit{{"blockstore.go", "next := list.shortened(now, longest)", "next := list"}},
			[]string{"configuration-change"},
		},
		{
			"nobody looks at requests in flight",
			[]edit{{"plugin.go", "\tp.onTick(monotonicNow())\n", ""}},
			[]string{"clock-jumps"},
		},
		{
			"observed blocks steer",
			[]edit{
				{"blocklist.go", "\tif observed {\n\t\treturn l.observedUntil > now\n\t}\n\treturn l.enforcedUntil > now", "\treturn max(l.observedUntil, l.enforcedUntil) > now"},
				{"filter.go", "return e.Cluster == cluster && e.Observed == r.observes() && s.keepsOut(r, e, now)", "return e.Cluster == cluster && s.keepsOut(r, e, now)"},
				{
					"filter.go", "\t\tif e, known := list.find(cluster, h.address, r.observes()); known && s.keepsOut(r, e, now) {",
					"\t\te, known := list.find(cluster, h.address, false)\n\t\tif o, too := list.find(cluster, h.address, true); too && o.blocks(now) {\n\t\t\te, known = o, too\n\t\t}\n\t\tif known && e.blocks(now) {",
				},
			},
			[]string{"observe-and-enforce"},
		},
		{
			"rules share their counts",
			[]edit{{"breaker.go", "\tevidence := b.ledger.of(ledgerKey{r, cluster, endpoint}, now)\n\tknown, _ := list", "\tevidence := b.ledger.of(ledgerKey{nil, cluster, endpoint}, now)\n\tknown, _ := list"}},
			[]string{"two-routes-two-thresholds"},
		},
		{
			"slow is longer than the threshold, not as long",
			[]edit{{"inflight.go", "late = q.waited(now) >= threshold", "late = q.waited(now) > threshold"}},
			[]string{"limits-are-reached"},
		},
		{
			"the dedup window swallows what comes at its end",
			[]edit{{"dedup.go", "s.reached.since(e.lastCounted) >= window", "s.reached.since(e.lastCounted) > window"}},
			[]string{"limits-are-reached"},
		},
		{
			"the clock starts before the upload is over",
			[]edit{{"stream.go", "\tif endOfStream {\n\t\ts.plugin.onComplete(&s.request, now)\n\t}\n\treturn action", "\ts.plugin.onComplete(&s.request, now)\n\treturn action"}},
			[]string{"internal/sim/testdata/slow-upload.yaml"},
		},
		{
			"a stream is measured at its headers",
			[]edit{{"stream.go", "\t\treturn streams(", "\t\treturn false && streams("}},
			[]string{"sse-says-nothing"},
		},
		{
			"the wall clock is read",
			[]edit{{"clock_wasip1.go", "const clockMonotonic = 1", "const clockMonotonic = 0"}},
			[]string{"clock-jumps"},
		},
		{
			"requests without a body are held, too",
			[]edit{{"upstream_higress.go", "if !bodyToCome {", "if false {"}},
			[]string{"clock-jumps"},
		},
	}
}

// TestASpoiledBreakerFailsAScenario breaks the breaker in one way after the other, and
// each time asks the scenarios whether they notice.
func TestASpoiledBreakerFailsAScenario(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles the plugin two dozen times")
	}
	t.Parallel()
	for _, s := range spoils() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			wasm, err := os.ReadFile(plugintest.Spoiled(t, "", s.forBuild()...))
			require.NoError(t, err)
			cache := t.TempDir()
			for _, name := range s.scenarios {
				if seen := failuresIn(t, scenarioPath(name), wasm, cache); seen != "" {
					first, _, _ := strings.Cut(seen, "\n")
					t.Logf("%s notices: %s", name, first)
					return
				}
			}
			t.Errorf("no scenario notices; tried %s", strings.Join(s.scenarios, ", "))
		})
	}
}

func scenarioPath(name string) string {
	if strings.Contains(name, "/") {
		return "../../" + name
	}
	return "../../scenarios/" + name + ".yaml"
}

// failuresIn plays the file with each of its numbers of workers up to the first run that
// fails, and returns what did not hold.
func failuresIn(t *testing.T, file string, wasm []byte, cache string) string {
	t.Helper()
	scenario, err := sim.Load(file)
	require.NoError(t, err)
	for _, workers := range scenario.Workers {
		result, err := sim.Run(t.Context(), scenario, sim.Options{Wasm: wasm, Workers: workers, Seed: scenario.Seed, CacheDir: cache})
		require.NoError(t, err)
		if !result.Passed() {
			return failures(result)
		}
	}
	return ""
}

// TestEverySpoilIsTriedOnScenariosThatPass guards the test above: a scenario that fails
// anyway notices nothing.
func TestEverySpoilIsTriedOnScenariosThatPass(t *testing.T) {
	tried := map[string]bool{}
	for _, s := range spoils() {
		for _, name := range s.scenarios {
			if tried[name] {
				continue
			}
			tried[name] = true
			assert.Empty(t, failuresIn(t, scenarioPath(name), plugintest.Wasm(t), ""), name)
		}
	}
}
