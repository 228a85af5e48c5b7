package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// minimal is a scenario in which every section can be replaced.
const minimal = `
name: minimal
duration: 1m
clusters:
  - name: llm
    latency: 1s
    endpoints:
      - {name: A, address: 10.0.0.1:8000}
      - {name: B, address: "[fd00::1]:8000"}
traffic:
  - {name: chat, rate: 1}
`

func TestDefaultsAreFilledIn(t *testing.T) {
	s, err := Parse([]byte(minimal))
	require.NoError(t, err)
	assert.Equal(t, WorkerCounts{1}, s.Workers)
	assert.Equal(t, []Route{{Name: "default", Cluster: "llm", Domain: "example.com"}}, s.Routes)
	assert.Equal(t, "round_robin", s.Clusters[0].Balancer)
	assert.Equal(t, "default", s.Traffic[0].Route)
	assert.Equal(t, Duration(time.Minute), *s.Traffic[0].To)
	assert.Equal(t, 200, s.Clusters[0].Endpoints[0].Latency[0].Status)
}

func TestAnEndpointWithACountBecomesThatMany(t *testing.T) {
	s, err := Parse([]byte(strings.Replace(minimal, "{name: A, address: 10.0.0.1:8000}", "{name: A, address: 10.0.0.254:8000, count: 3}", 1)))
	require.NoError(t, err)
	assert.Equal(t, []string{"A-1", "A-2", "A-3", "B"}, s.endpointNames())
	assert.Equal(t, "10.0.1.0:8000", s.Clusters[0].Endpoints[2].Address)
}

func TestThePluginsConfigurationIsPassedOnAsItIs(t *testing.T) {
	s, err := Parse([]byte(minimal + "plugin: {slow_threshold: 5s, _rules_: [{_match_route_: [default]}]}\n"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"slow_threshold":"5s","_rules_":[{"_match_route_":["default"]}]}`, string(s.Plugin))
}

func TestAWrongFileIsRefusedWithThePathOfWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, old, replacement, want string
	}{
		{"unknown section", "duration: 1m", "duration: 1m\nduratoin: 1m", "duratoin: unknown field; known here: clusters, description, duration,"},
		{"unknown field", "{name: A, address", "{name: A, lateny: 1s, address", "clusters[0].endpoints[0].lateny: unknown field; known here: absent, address,"},
		{"duplicate key", "duration: 1m", "duration: 1m\nduration: 2m", `key "duration" already set`},
		{"not a mapping", minimal, "- a\n- b", "should be a mapping with the fields"},
		{"empty value", "name: minimal", "name:", "name: has no value"},
		{"bare duration", "duration: 1m", "duration: 60", `duration: given 60; should be a duration with a unit, such as "70s"`},
		{"wrong unit", "duration: 1m", "duration: 1min", `duration: given "1min"; should be a duration with a unit`},
		{"negative duration", "duration: 1m", "duration: -1m", `duration: given "-1m"; should not be negative`},
		{"no duration", "duration: 1m", "", "duration: is missing"},
		{"no name", "name: minimal", "", "name: is missing"},
		{"text for a number", "rate: 1", "rate: fast", `traffic[0].rate: given "fast"; should be a number`},
		{"number for text", "name: llm", "name: 5", "clusters[0].name: given 5; should be text"},
		{"negative seed", "duration: 1m", "duration: 1m\nseed: -1", "seed: given -1; should be a whole number, 0 or more"},
		{"a list wanted", "  - {name: chat, rate: 1}", "  name: chat", `traffic: given {"name":"chat"}; should be a list`},
		{"no workers", "duration: 1m", "duration: 1m\nworkers: 0", "workers: given 0; should be 1 to 64"},
		{"a wrong one of several", "duration: 1m", "duration: 1m\nworkers: [1, many]", `workers[1]: given "many"; should be a whole number`},
		{"wrong address", "10.0.0.1:8000", "10.0.0.1", `clusters[0].endpoints[0].address: given "10.0.0.1"; should be ip:port`},
		{"address twice", "[fd00::1]:8000", "10.0.0.1:8000", `clusters[0].endpoints[1].address: given "10.0.0.1:8000"; is there twice`},
		{"name twice", "name: B", "name: A", `clusters[0].endpoints[1].name: given "A"; is there twice`},
		{"too many", "{name: A, address", "{name: A, count: 99999, address", "count: given 99999; should be 1 to 10000"},
		{"no latency", "    latency: 1s\n", "", "clusters[0].endpoints[0].latency: is missing"},
		{"wrong latency", "latency: 1s", "latency: soon", `clusters[0].latency: given "soon"; should be a duration such as "2s", or a list of steps`},
		{"latency begins late", "latency: 1s", "latency: [{from: 1s, headers: 1s}]", "latency[0].from: given 1s; the first step should begin at 0s"},
		{"steps out of order", "latency: 1s", "latency: [{from: 0s, headers: 1s}, {from: 0s, headers: 2s}]", "latency[1].from: given 0s; should be later"},
		{"step without times", "latency: 1s", "latency: [{from: 0s, jitter: 10%}]", "latency[0]: should have headers"},
		{"hang with a time", "latency: 1s", "latency: [{from: 0s, headers: 1s, hang: true}]", "hang and stall should stand alone"},
		{"stall in a repetition", "{name: A, address: 10.0.0.1:8000}", "{name: A, address: 10.0.0.1:8000, repeat: 10s, latency: [{from: 0s, stall: true}, {from: 5s, headers: 1s}]}", "latency[0]: stall does not go with repeat"},
		{"step behind the repetition", "{name: A, address: 10.0.0.1:8000}", "{name: A, address: 10.0.0.1:8000, repeat: 5s, latency: [{from: 0s, headers: 2s}, {from: 5s, headers: 1s}]}", "latency[1].from: given 5s; should be before repeat, 5s"},
		{"ramp to nowhere", "latency: 1s", "latency: [{from: 0s, headers: 1s, ramp: true}]", "latency[0].ramp: there should be a step"},
		{"chunk before headers", "latency: 1s", "latency: [{from: 0s, headers: 2s, first_chunk: 1s}]", "should not go back in time"},
		{"share without sign", "latency: 1s", "latency: [{from: 0s, headers: 1s, jitter: 0.1}]", `jitter: given 0.1; should be a percentage from "0%" to "100%"`},
		{"wrong balancer", "    latency: 1s", "    latency: 1s\n    balancer: best", `clusters[0].balancer: given "best"; should be one of round_robin, random`},
		{"no such route", "rate: 1", "rate: 1, route: nope", `traffic[0].route: given "nope"; known in this file: default`},
		{"no such cluster", "traffic:", "routes: [{name: default, cluster: nope}]\ntraffic:", `routes[0].cluster: given "nope"; known in this file: llm`},
		{"rate and burst", "rate: 1", "rate: 1, burst: 5", "traffic[0]: there should be either a rate"},
		{"burst over workers", "rate: 1", "burst: 5, spread: each", "a burst goes with neither"},
		{"over without burst", "rate: 1", "rate: 1, over: 1s", "over: goes with burst only"},
		{"to before from", "rate: 1", "rate: 1, from: 10s, to: 5s", "traffic[0].to: given 5s; should be after from, 10s"},
		{"upload without body", "rate: 1", "rate: 1, upload: 1s", "upload: goes with method POST only"},
		{"no such worker", "rate: 1", "rate: 1, worker: 1", "worker: given 1; should be 0 to 0"},
		{"weights for others", "rate: 1", "rate: 1, weights: [1, 2]", "weights: given 2; should be one for each of the 1 workers"},
		{"no weight", "rate: 1", "rate: 1, weights: [0]", "weights: each should be above 0"},
		{"pinned and weighted", "rate: 1", "rate: 1, weights: [1], worker: 0", "there should be one of spread, weights and worker"},
		{"wrong arrivals", "rate: 1", "rate: 1, arrivals: bursty", `arrivals: given "bursty"; should be one of constant, poisson`},
		{"rate that never sends", "rate: 1", "rate: 1e-10", "traffic[0].rate: given 1e-10; should be 0.0001 to 100000 requests per second"},
		{"rate that never sends at random", "rate: 1", "rate: 1e-10, arrivals: poisson", "traffic[0].rate: given 1e-10; should be 0.0001 to"},
		{"rate that nobody can play", "rate: 1", "rate: 1e300", "traffic[0].rate: given 1e+300; should be 0.0001 to"},
		{"negative rate", "rate: 1", "rate: -1", "traffic[0].rate: given -1; should be 0.0001 to"},
		{"rate and negative burst", "rate: 1", "rate: 1, burst: -3", "traffic[0]: there should be either a rate"},
		{"burst that nobody can play", "rate: 1", "burst: 9223372036854775807", "traffic[0].burst: given 9223372036854775807; should be 1 to 1000000 requests"},
		{"burst at one moment", "rate: 1", "burst: 250001", "traffic[0].burst: given 250001 at one moment; should be at most 250000, or more over a time"},
		{"too many in all", "  - {name: chat, rate: 1}", "  - {rate: 50000}\n  - {rate: 20000}", "traffic: given 4200000 requests in all; should be at most 4000000"},
		{"too many for each worker", "  - {name: chat, rate: 1}", "  - {rate: 20000, spread: each}\nworkers: [1, 4]", "traffic: given 4800000 requests in all"},
		{"traffic behind the end", "rate: 1", "rate: 1, from: 1m", "traffic[0].from: given 1m0s; the run ends at 1m0s"},
		{"weight that sums cannot hold", "rate: 1", "rate: 1, weights: [1e308]", "weights: each should be above 0 and at most 1000000"},
		{"run that is too long", "duration: 1m", "duration: 1000h1ns", `duration: given "1000h1ns"; should be at most 1000h`},
		{"run that no int64 holds", "duration: 1m", "duration: 3000000h", `duration: given "3000000h"; should be a duration with a unit, such as "70s", "1m30s" or "500ms", and at most 1000h`},
		{"latency that is too long", "latency: 1s", "latency: 2000h", `clusters[0].latency: given "2000h"; should be at most 1000h`},
		{"too many together", "{name: A, address: 10.0.0.1:8000}", "{name: A, address: 10.0.0.1:8000, count: 10000}", "clusters[0].endpoints[1]: is one too many; should be at most 10000 in all clusters together"},
		{"part of a worker", "duration: 1m", "duration: 1m\nworkers: 1.5", "workers: given 1.5; should be a number from 1 to 64, or a list of them"},
		{"list of no workers", "duration: 1m", "duration: 1m\nworkers: []", "workers: given []; should be a number from 1 to 64, or a list of them"},
		{"bare latency", "latency: 1s", "latency: 2", `clusters[0].latency: given 2; should be a duration such as "2s", or a list of steps`},
		{"share that is no number", "latency: 1s", "latency: [{from: 0s, headers: 1s, jitter: NaN%}]", `jitter: given "NaN%"; should be a percentage from "0%" to "100%"`},
		{"share in hexadecimal", "latency: 1s", "latency: [{from: 0s, headers: 1s, jitter: 0x1p3%}]", `jitter: given "0x1p3%"; should be a percentage`},
		{"status that is none", "latency: 1s", "latency: [{from: 0s, headers: 1s, status: -7}]", "latency[0].status: given -7; should be 200 to 599"},
		{"key of two lines", "duration: 1m", "duration: 1m\n\"bad\\nkey\": 1", `"bad\nkey": unknown field`},
		{"name of two lines", "name: minimal", "name: \"A\\nB\"", `name: given "A\nB"; should be printable and on one line`},
		{"endpoint of two lines", "name: B", "name: \"A\\nB\"", `clusters[0].endpoints[1].name: given "A\nB"; should be printable and on one line`},
		{"domain of two lines", "traffic:", "routes: [{name: default, domain: \"A\\nB\"}]\ntraffic:", `routes[0].domain: given "A\nB"`},
		{"type of two lines", "rate: 1", "rate: 1, response_type: \"A\\nB\"", `traffic[0].response_type: given "A\nB"`},
		{"second document", "traffic:", "---\ntraffic:", "given a second YAML document"},
		{"wrong method", "rate: 1", "rate: 1, method: PUT", `method: given "PUT"; should be one of GET, POST`},
	} {
		t.Run(c.name, func(t *testing.T) { requireRefused(t, strings.Replace(minimal, c.old, c.replacement, 1), c.want) })
	}
}

func TestAWrongEventIsRefused(t *testing.T) {
	for _, c := range []struct{ event, want string }{
		{"{at: 1s}", "events[0]: given 0 kinds; should be exactly one of wall_jump, configure, add, remove, health, order, fault"},
		{"{at: 1s, wall_jump: {by: 1h}, add: {endpoints: [A]}}", "events[0]: given 2 kinds"},
		{"{at: 2m, wall_jump: {by: 1h}}", "events[0].at: given 2m0s; the run ends at 1m0s"},
		{"{at: 1s, until: 5s, wall_jump: {by: 1h}}", "events[0].until: goes with every only"},
		{"{at: 5s, every: 1s, until: 5s, wall_jump: {by: 1h}}", "events[0].until: given 5s; should be after at, 5s"},
		{"{at: 1s, fault: {call: proxy_get_property, trap: true, every: -1}}", "fault.every: given -1; should be 0 or more"},
		{"{at: 1s, fault: {call: proxy_get_property, trap: true, times: -3}}", "fault.times: given -3; should be 0 or more"},
		{"{at: 1s, fault: {call: proxy_set_propety, trap: true}}", `fault.call: given "proxy_set_propety"; should be a call of the ABI; the nearest is proxy_set_property`},
		{"{at: 1s, fault: {call: proxy_set_shard_data, status: empty}}", "the nearest is proxy_set_shared_data"},
		{"{at: 1s, fault: {call: proxy_on_tik, trap: true}}", "the nearest is proxy_on_tick"},
		{"{at: 1s, fault: {call: proxy_on_tick, junk: true}}", `fault.call: given "proxy_on_tick"; is a callback, which goes with trap, other_writes and other_ticks only`},
		{"{at: 1s, fault: {call: proxy_on_tick, status: empty}}", `fault.call: given "proxy_on_tick"; is a callback`},
		{"{at: 1s, fault: {call: proxy_set_shared_data, junk: true}}", "fault.junk: proxy_set_shared_data hands no bytes to the plugin; should be one of proxy_call_foreign_function,"},
		{"{at: 1s, fault: {call: proxy_get_upstream_hosts, argument: A, trap: true}}", "fault.argument: proxy_get_upstream_hosts has no text to compare it with; should be one of proxy_add_header_map_value,"},
		{"{at: 1s, wall_jump: {by: 1001h}}", `wall_jump.by: given "1001h"; should be -1000h to 1000h`},
		{"{at: 1s, every: 1ns, wall_jump: {by: 1h}}", "events[0].every: given 1ns; with it events happen 59000000000 times in all; should be at most 1000000"},
		{"{at: 1s, wall_jump: {by: 5}}", "events[0].wall_jump.by: given 5; should be a duration"},
		{"{at: 1s, wall_jump: {}}", "wall_jump.by: is missing"},
		{"{at: 1s, configure: {}}", "configure.plugin: is missing"},
		{"{at: 1s, add: {}}", "add.endpoints: is missing"},
		{"{at: 1s, remove: {endpoints: [Z]}}", `remove.endpoints: given "Z"; known in this file: A, B`},
		{"{at: 1s, health: {endpoints: [A], status: ill}}", `health.status: given "ill"; should be one of Healthy,`},
		{"{at: 1s, fault: {call: get_property, trap: true}}", "fault.call: given"},
		{"{at: 1s, fault: {call: proxy_get_property}}", "fault: given 0 effects; should be exactly one of status, trap, junk, other_writes"},
		{"{at: 1s, fault: {call: proxy_get_property, status: bad}}", `fault.status: given "bad"; should be one of bad_argument, cas_mismatch,`},
		{"{at: 1s, fault: {call: proxy_get_property, trap: true, keep_effect: true}}", "fault.keep_effect: goes with status only"},
		{"{at: 1s, fault: {call: proxy_get_property, trap: true, worker: 1}}", "fault.worker: given 1; should be 0 to 0"},
	} {
		t.Run(c.event, func(t *testing.T) { requireRefused(t, minimal+"events: ["+c.event+"]\n", c.want) })
	}
}

func TestAWrongExpectationIsRefused(t *testing.T) {
	for _, c := range []struct{ expectation, want string }{
		{"{}", "expect[0]: given 0 kinds; should be exactly one of blocked, never_blocked,"},
		{"{blockd: {}}", "expect[0].blockd: unknown field; known here: blocked,"},
		{"{blocked: {endpoint: Z}}", `blocked.endpoint: given "Z"; known in this file: A, B`},
		{"{blocked: {endpoint: A, after: 10s, by: 5s}}", "blocked.by: given 5s; should not be before after, 10s"},
		{"{blocked: {endpoint: A, reason: bad}}", "blocked.reason"},
		{"{never_blocked: {endpoints: [Z]}}", `expect[0].never_blocked.endpoints: given "Z"`},
		{"{blocks: {endpoint: Z, exactly: 1}}", `expect[0].blocks.endpoint: given "Z"`},
		{"{returned: {endpoint: A, by: 0s}}", "returned.by"},
		{"{requests: {}}", "requests: there should be exactly, at_least or at_most"},
		{"{requests: {exactly: 1, at_most: 2}}", "exactly goes with neither"},
		{"{requests: {at_least: 3, at_most: 2}}", "at_least 3 is more than at_most 2"},
		{"{requests: {from: 5s, to: 5s, exactly: 1}}", "requests.to: given 5s; should be after from, 5s"},
		{"{requests: {traffic: nope, exactly: 1}}", `requests.traffic: given "nope"`},
		{"{requests: {outcome: nope, exactly: 1}}", `requests.outcome: given "nope"`},
		{"{requests_to: {endpoint: A, exactly: 1, share_at_most: 3%}}", "a number or a share, not both"},
		{"{requests_to: {endpoint: A}}", "there should be exactly, at_least or at_most"},
		{"{slow_requests: {exactly: 0}}", "slow_requests.longer_than: is missing"},
		{"{samples_counted: {cluster: nope, exactly: 0}}", `samples_counted.cluster: given "nope"`},
		{"{metric: {name: nope, exactly: 0}}", `metric.name: given "nope"; should be one of panics,`},
		{"{metric: {name: panics, cluster: llm, exactly: 0}}", "panics belongs to the whole gateway"},
		{"{requests: {at_least: -1}}", "requests.at_least: given -1; should be 0 or more"},
		{"{requests: {exactly: -1}}", "requests.exactly: given -1; should be 0 or more"},
		{"{trapped: {at_most: -1}}", "expect[0].trapped.at_most: given -1; should be 0 or more"},
		{"{requests_to: {endpoint: A, share_at_least: NaN%}}", `share_at_least: given "NaN%"; should be a percentage`},
		{"{blocked: {endpoint: A, strikes: -1}}", "blocked.strikes: given -1; should be 0 or more"},
		{"{blocked: {endpoint: A, after: 61s}}", "blocked.after: given 1m1s; the run ends at 1m0s"},
		{"{returned: {endpoint: A, after: 61s, by: 62s}}", "returned.after: given 1m1s; the run ends at 1m0s"},
		{"{never_blocked: {from: 1m}}", "never_blocked.from: given 1m0s; the run ends at 1m0s"},
		{"{blocks: {from: 1m, exactly: 0}}", "blocks.from: given 1m0s; the run ends"},
		{"{requests: {from: 1m, exactly: 0}}", "requests.from: given 1m0s; the run ends"},
		{"{requests_to: {endpoint: A, from: 1m, exactly: 0}}", "requests_to.from: given 1m0s; the run ends"},
		{"{refused: {from: 1m, exactly: 0}}", "refused.from: given 1m0s; the run ends"},
		{"{client_errors: {from: 1m, exactly: 0}}", "client_errors.from: given 1m0s; the run ends"},
		{"{memory_growth: {from: 1m, exactly: 0}}", "memory_growth.from: given 1m0s; the run ends"},
		{"{slow_requests: {longer_than: 1s, from: 1m, exactly: 0}}", "slow_requests.from: given 1m0s; the run ends"},
		{"{slow_requests: {longer_than: 61s, exactly: 0}}", "slow_requests.longer_than: given 1m1s; the run ends"},
		{"{log_lines: {exactly: 0}}", "log_lines.contain: is missing"},
	} {
		t.Run(c.expectation, func(t *testing.T) { requireRefused(t, minimal+"expect: ["+c.expectation+"]\n", c.want) })
	}
}

func TestANumberThatIsNoneIsRefused(t *testing.T) {
	for given, said := range map[string]string{".inf": "+Inf", "-.inf": "-Inf", ".nan": "NaN"} {
		_, err := Parse([]byte(strings.Replace(minimal, "rate: 1", "rate: "+given, 1)))
		require.EqualError(t, err, "given the number "+said+"; should be a finite one")
	}
}

func TestAnErrorNamesTheFileOnOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(file, []byte("a: [\n b\nc"), 0o600))
	_, err := Load(file)
	require.ErrorContains(t, err, file+": ")
	assert.NotContains(t, err.Error(), "\n")

	_, err = Load("missing.yaml")
	require.ErrorContains(t, err, "missing.yaml")
}

func requireRefused(t *testing.T, text, want string) {
	t.Helper()
	_, err := Parse([]byte(text))
	require.ErrorContains(t, err, want)
	assert.NotContains(t, err.Error(), "\n")
	refusedBySchema(t, text, err)
}
