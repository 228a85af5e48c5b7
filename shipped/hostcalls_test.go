package shipped

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// What a request costs in host calls, by kind. A change that makes one more must say so here.

// calls are host calls by name and what they ask for: a key, a header, or a property.
type calls map[string]int

// plus returns both together.
func (c calls) plus(more calls) calls {
	sum := maps.Clone(c)
	for call, n := range more {
		sum[call] += n
	}
	return sum
}

// counted returns the host calls that worker 0 makes meanwhile.
func (w *world) counted(play func()) calls {
	w.t.Helper()
	found := calls{}
	remove := w.faults.Add(func(call wasmhost.HostCall) wasmhost.Fault {
		if call.Worker == 0 && call.Name != call.Phase {
			found[described(call)]++
		}
		return wasmhost.Fault{}
	})
	defer remove()
	play()
	return found
}

func described(call wasmhost.HostCall) string {
	switch call.Name {
	case "proxy_get_property", "proxy_get_shared_data", "proxy_set_shared_data":
		return call.Name + " " + call.Argument
	case "proxy_get_header_map_value":
		header := "request header "
		if call.Phase == "proxy_on_response_headers" {
			header = "response header "
		}
		return header + call.Argument
	default:
		return call.Name
	}
}

// What the wrapper asks before it calls any plugin, whatever the plugin does.
func ofTheWrapper() calls {
	return calls{
		"request header :authority":       2,
		"request header :method":          1,
		"request header :path":            1,
		"request header :scheme":          1,
		"request header connection":       1,
		"request header content-encoding": 1,
		"request header content-type":     1,
		"request header upgrade":          1,
		"request header x-request-id":     1,
		"proxy_get_property cluster_name": 1,
		"proxy_get_property route_name":   1,
	}
}

const readBlocklist = "proxy_get_shared_data endpoint-breaker.blocklist"

// The parts that what we ask is made of.
func theRequest() calls { return calls{readBlocklist: 1} }

func theAnswer() calls {
	return calls{"proxy_get_property response.code_details": 1, "response header content-type": 1}
}
func theCluster() calls { return calls{"proxy_get_property cluster_name": 1} }

func theEndpoint() calls {
	return theCluster().plus(calls{
		"proxy_get_property upstream.address":               1,
		"proxy_get_property upstream.request_attempt_count": 1,
	})
}

func theOverride() calls {
	return theCluster().plus(calls{
		"proxy_get_upstream_hosts":         1,
		"proxy_set_upstream_override_host": 1,
		"proxy_increment_metric":           1,
	})
}

// whether the client waits for an answer before it sends its body
func theBody() calls {
	return calls{"request header content-type": 1, "request header expect": 1, "request header upgrade": 1}
}

// a line of the log, which the wrapper writes
func theLog() calls {
	return calls{"proxy_log": 1, "proxy_call_foreign_function": 1, "proxy_get_property x_request_id": 1}
}

// a sample that counts, and its metric
func theSample() calls {
	return theEndpoint().plus(calls{readBlocklist: 1, "proxy_increment_metric": 1})
}

func TestHostCallsOfARequest(t *testing.T) {
	quiet := `{"check_interval": "0s", "confirm_count": 20, "dedup_window": "0s"}`
	inTime := theRequest().plus(theAnswer())
	streamOf := func(contentType string) func(*world) {
		return func(w *world) {
			c := w.sendTo(0, hostB)
			c.headers(contentType)
			for range 100 {
				c.chunk("data: 1\n\n", false)
			}
			c.chunk("data: [DONE]\n\n", true)
			c.done()
		}
	}
	postInTime := func(w *world) { w.sendTo(0, hostB).answer() }
	getInTime := func(w *world) {
		c := w.stream(0)
		_, err := c.RequestHeaders(get, true)
		require.NoError(t, err)
		c.routed(1).answer()
	}
	after75 := func(prepare func(*call), end func(*call)) func(*world) {
		return func(w *world) {
			c := w.sendTo(0, hostB)
			prepare(c)
			w.to((w.clock.Monotonic() - w.started).Seconds() + 75)
			end(c)
		}
	}
	as := func(*call) {}
	answered := func(c *call) { c.answer() }
	blockA := func(w *world) { w.block(hostA); w.to(91); w.send(0).answer() }

	for _, test := range []struct {
		name          string
		configuration string
		before        func(*world) // not counted, like the first use of a metric; by default the same once
		play          func(*world)
		want          calls // beside the wrapper's
	}{
		{name: "POST, mode off", configuration: `{"mode": "off"}`, play: postInTime, want: calls{}},
		{name: "GET, mode off", configuration: `{"mode": "off"}`, play: getInTime, want: calls{}},

		// In time, and nothing blocked: nobody asks whose it is.
		{name: "POST", configuration: quiet, play: postInTime, want: inTime},
		{name: "GET", configuration: quiet, play: getInTime, want: inTime.plus(calls{"request header upgrade": 1})},
		{name: "JSON of a hundred chunks", configuration: quiet, play: streamOf("application/json"), want: inTime},
		{name: "SSE of a hundred chunks", configuration: quiet, play: streamOf("text/event-stream"), want: inTime},
		{name: "SSE that must not stall", configuration: `{"stall_threshold": "20s", "check_interval": "0s"}`, play: streamOf("text/event-stream"), want: inTime},
		{name: "gRPC", configuration: quiet, play: streamOf("application/grpc"), want: inTime},
		{name: "measure: headers", configuration: `{"check_interval": "0s", "measure": "headers"}`, play: streamOf("text/event-stream"), want: theRequest().plus(calls{"proxy_get_property response.code_details": 1})},
		{name: "override: always", configuration: `{"check_interval": "0s", "override": "always"}`, play: postInTime, want: inTime.plus(theOverride()).plus(theBody())},

		// Something is blocked.
		{name: "blocked elsewhere", configuration: threeConfirmations, before: blockA, play: func(w *world) {
			c, err := w.plugin.Worker(0).NewStream(wasmhost.Route{Name: "llm", Cluster: "outbound|443||other.dns"})
			require.NoError(t, err)
			other := &call{w: w, Stream: c}
			_, err = c.RequestHeaders(post, true)
			require.NoError(t, err)
			c.SetUpstream(hostB, 1)
			other.answer()
		}, want: inTime.plus(theCluster())},
		{name: "POST, blocked here", configuration: threeConfirmations, before: blockA, play: postInTime, want: inTime.plus(theOverride()).plus(theBody())},
		{name: "GET, blocked here", configuration: threeConfirmations, before: blockA, play: getInTime, want: inTime.plus(theOverride()).plus(calls{"request header upgrade": 1})},
		{name: "a bypass", configuration: `{"check_interval": "0s", "confirm_count": 3, "min_candidates_percent": 100}`, before: blockA, play: postInTime, want: inTime.plus(theCluster()).plus(calls{"proxy_get_upstream_hosts": 1, "proxy_increment_metric": 1})},
		{name: "observed", configuration: `{"check_interval": "0s", "confirm_count": 3, "mode": "observe"}`, before: func(w *world) {
			w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90})
			w.to(91)
			w.send(0).answer()
		}, play: postInTime, want: inTime.plus(theCluster()).plus(calls{"proxy_get_upstream_hosts": 1, "proxy_increment_metric": 1})},

		// In time, and it matters whose it is.
		{name: "min_slow_percent", configuration: `{"check_interval": "0s", "min_slow_percent": 10}`, play: postInTime, want: inTime.plus(theEndpoint())},
		{name: "a probe", configuration: probation, before: func(w *world) { w.block(hostA); w.to(135); w.probe(0).leaves() }, play: func(w *world) { w.probe(0).answer() }, want: inTime.plus(theOverride()).plus(theBody()).plus(theEndpoint()).plus(calls{"proxy_increment_metric": 1})},

		// Late.
		{name: "late headers", configuration: quiet, play: after75(as, answered), want: inTime.plus(theSample())},
		{name: "late first chunk", configuration: quiet, play: after75(func(c *call) { c.headers("text/event-stream") }, func(c *call) { c.chunk("data: 1\n\n", true); c.done() }), want: inTime.plus(theSample())},
		{name: "late after an override that was not honoured", configuration: `{"override": "always", "check_interval": "0s", "confirm_count": 20, "dedup_window": "0s"}`, play: after75(func(c *call) { c.SetUpstream("10.0.0.9:8000", 1) }, answered), want: inTime.plus(theOverride()).plus(theBody()).plus(theSample()).plus(calls{"proxy_increment_metric": 1})},
		{name: "late after a retry, for its own part", configuration: quiet, play: after75(func(c *call) { c.SetUpstream(hostC, 2) }, func(c *call) { c.backendLatency(75e9); c.answer() }), want: inTime.plus(theEndpoint()).plus(theSample()).plus(calls{"proxy_get_property response.backend_latency": 1})},
		{name: "late, but nobody's", configuration: quiet, play: after75(func(c *call) { c.SetUpstream("", 0) }, func(c *call) { c.reply("401", "ext_authz_denied") }), want: inTime.plus(calls{"proxy_get_property upstream.address": 1})},
		{name: "the route's timeout", configuration: quiet, play: after75(as, func(c *call) { c.reply("504", "response_timeout") }), want: inTime.plus(theSample())},
		{name: "late, and it confirms a block", configuration: `{"check_interval": "0s", "confirm_count": 1, "block_ttl": "10s"}`, play: after75(as, answered), want: inTime.plus(theSample()).plus(calls{readBlocklist: 1, "proxy_set_shared_data endpoint-breaker.blocklist": 1, "proxy_increment_metric": 1}).plus(theLog())},

		// Never answered.
		{name: "the client leaves in time", configuration: quiet, play: func(w *world) { w.send(0).leaves() }, want: theRequest().plus(calls{"proxy_get_property response.code_details": 1})},
		{name: "the client leaves late", configuration: quiet, play: after75(as, func(c *call) { c.leaves() }), want: theRequest().plus(calls{"proxy_get_property response.code_details": 1}).plus(theSample())},
		{name: "in flight, seen by a tick", configuration: `{"confirm_count": 20, "dedup_window": "0s"}`, play: after75(as, answered), want: theRequest().plus(theSample()).plus(calls{"proxy_set_effective_context": 1})},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := start(t, test.configuration, 1)
			if test.before != nil {
				test.before(w)
			} else {
				test.play(w)
				w.to((w.clock.Monotonic() - w.started).Seconds() + 20)
			}
			got := w.counted(func() { test.play(w) })
			assert.Equal(t, ofTheWrapper().plus(test.want), got)
		})
	}
}

func TestHostCallsOfTheFirstUseOfAMetricDefineIt(t *testing.T) {
	w := start(t, `{"check_interval": "0s", "confirm_count": 20}`, 1)
	c := w.sendTo(0, hostA)
	w.to(75)
	got := w.counted(func() { c.answer() })
	assert.Equal(t, theAnswer().plus(theSample()).plus(calls{"proxy_define_metric": 1}), got)
}

// Fifty thousand streams wait; the ticks cost nothing for those that are not late, and for each
// that is what one look costs.
func TestHostCallsOfTicksDoNotGrowWithTheStreamsInFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("starts fifty thousand requests")
	}
	w := start(t, `{"confirm_count": 20}`, 1)
	empty := w.plugin.Worker(0).MemoryBytes()
	first := w.sendTo(0, hostA)
	w.to(10)
	var others []*call
	for range 49_999 {
		others = append(others, w.send(0))
	}
	full := w.plugin.Worker(0).MemoryBytes()
	t.Logf("50,000 streams in flight: %d MiB, %d bytes each", full>>20, (full-empty)/50_000)
	assert.Less(t, (full-empty)/50_000, uint64(4096), "bytes of a stream")

	assert.Empty(t, w.counted(func() { w.to(69.5) }), "120 ticks")
	one := theSample().plus(calls{"proxy_set_effective_context": 1, "proxy_define_metric": 1})
	assert.Equal(t, one, w.counted(func() { w.to(79.5) }), "20 ticks, and one stream is late")
	first.done()

	// Their ends never come. Each is looked at once, and never again.
	each := calls{}
	for call, n := range theSample().plus(calls{"proxy_set_effective_context": 1}) {
		each[call] = 49_999 * n
	}
	each["proxy_define_metric"] = 1 // samples that the window has swallowed
	assert.Equal(t, each, w.counted(func() { w.to(80) }))
	assert.Empty(t, w.counted(func() { w.to(1000) }))
	assert.EqualValues(t, 50_000, w.metric("samples")+w.metric("samples_deduplicated"))
	assert.LessOrEqual(t, w.plugin.Worker(0).MemoryBytes(), full+full/4, "looking costs next to no memory")

	for _, c := range others {
		c.done()
	}
	assert.Zero(t, w.plugin.Worker(0).OpenStreams())
}

// Beyond fifty thousand the request that would be looked at first is watched no longer; its
// answer is still measured.
func TestMoreStreamsThanAreWatchedAreStillMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("starts fifty thousand requests")
	}
	w := start(t, `{"confirm_count": 20}`, 1)
	forgotten := w.sendTo(0, hostA)
	w.to(10)
	for range 50_000 {
		w.send(0)
	}
	w.to(75)
	assert.Zero(t, w.metric("samples"), "nobody looks")
	forgotten.answer()
	assert.EqualValues(t, 1, w.metric("samples"))
}
