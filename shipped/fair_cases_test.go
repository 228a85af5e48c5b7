package shipped

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// The cases from public bug reports in which the wrong server is blamed, or nobody.

// at is something that happens at that second.
type at struct {
	second float64
	act    func()
}

// happens lets things happen in the order of time.
func (w *world) happens(things ...at) {
	w.t.Helper()
	slices.SortStableFunc(things, func(a, b at) int { return cmp.Compare(a.second, b.second) })
	for _, thing := range things {
		w.to(thing.second)
		thing.act()
	}
}

// since returns the second at which the endpoint's latest block began, 0 for never.
func (w *world) since(endpoint string) float64 {
	w.t.Helper()
	for _, e := range w.entries() {
		if e.Endpoint == endpoint {
			return (e.Since - w.started).Seconds()
		}
	}
	return 0
}

// B01: after a redispatch the server is blamed that was asked for, not the one that answered.
// (haproxy 2679, envoy 2259)
func TestCaseB01AnOverrideThatIsNotHonouredIsBlamedOnWhoAnswered(t *testing.T) {
	w := start(t, `{"override": "always", "confirm_count": 3, "check_interval": "0s"}`, 1)
	all := w.hosts
	w.hosts = all[1:2] // B is gone when the router wants to go there
	var things []at
	for _, end := range []float64{80, 85, 90} {
		var c *call
		things = append(things,
			at{end - 75, func() {
				c = w.send(0)
				require.Equal(t, hostB, c.OverrideHost())
				c.SetUpstream(hostA, 1)
			}},
			at{end, func() { c.answer() }})
	}
	w.happens(things...)
	assert.Equal(t, map[string]float64{hostA: 135}, w.blocked())
	assert.EqualValues(t, 3, w.metric("samples"))
	assert.EqualValues(t, 3, w.metric("overrides_missed"))

	w.to(200) // B's count is zero: it takes three
	for _, want := range []int{0, 0, 1} {
		second := (w.clock.Monotonic() - w.started).Seconds()
		c := w.send(0)
		w.to(second + 75)
		c.answer()
		assert.Len(t, w.blocked(), want)
	}
}

func TestCaseB01ARetryIsBlamedOnWhoAnsweredForItsOwnTime(t *testing.T) {
	for name, test := range map[string]struct {
		end          func(*call)
		blocked      map[string]float64
		unattributed int64
	}{
		"the last attempt's own time is known": {
			func(c *call) { c.backendLatency(75 * time.Second) }, map[string]float64{hostA: 135}, 0,
		},
		"it is not": {
			func(c *call) { c.HideProperty("response.backend_latency") }, map[string]float64{}, 3,
		},
		"it was short": {
			func(c *call) { c.backendLatency(2 * time.Second) }, map[string]float64{}, 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, threeConfirmations, 1)
			var things []at
			for _, end := range []float64{80, 85, 90} {
				var c *call
				things = append(things,
					at{end - 75, func() { c = w.sendTo(0, hostB); c.SetUpstream(hostA, 2) }}, // B refuses
					at{end, func() { test.end(c); c.answer() }})
			}
			w.happens(things...)
			assert.Equal(t, test.blocked, w.blocked())
			assert.Equal(t, test.unattributed, w.metric("samples_unattributed"))
		})
	}
}

func TestCaseB01ARetryMayGoToABlockedHostAndIsNotRepliedByUs(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	for range 10 {
		c := w.send(0)
		require.NotEqual(t, hostA, c.endpoint)
		w.hosts = w.hosts[:1] // the chosen one is gone, and only the blocked one is left
		c.SetUpstream(hostA, 2)
		c.answer()
		assert.Nil(t, c.LocalReply())
		assert.False(t, c.WasReset())
		w.hosts = []wasmhost.Host{{Address: hostA, Health: "Healthy"}, {Address: hostB, Health: "Healthy"}, {Address: hostC, Health: "Healthy"}}
	}
}

// B03: a host that hangs never makes a sample: its requests end in a timeout, or the client
// leaves, and neither counts. (erpc 1130, resilience4j 1597)
func TestCaseB03AHangingHostIsFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		lasts float64
		end   func(*call)
	}{
		{"by the route's timeout", 90, func(c *call) { c.reply("504", "response_timeout") }},
		{"though its clients leave", 80, func(c *call) { c.leaves() }},
	} {
		for interval, since := range map[string]float64{"0s": 10 + test.lasts, "500ms": 80} {
			t.Run(test.name+", looked at every "+interval, func(t *testing.T) {
				w := start(t, fmt.Sprintf(`{"confirm_count": 3, "check_interval": %q, "block_ttl": "10m"}`, interval), 1)
				var things []at
				for _, start := range []float64{0, 5, 10} {
					var c *call
					things = append(things,
						at{start, func() { c = w.sendTo(0, hostA) }},
						at{start + test.lasts, func() { test.end(c) }})
				}
				w.happens(things...)
				w.to(300)
				assert.Equal(t, since, w.since(hostA))
				assert.EqualValues(t, 3, w.metric("samples"), "the stream's end is no second sample")
				assert.Zero(t, w.metric("samples_deduplicated")+w.metric("samples_stale"))
			})
		}
	}
}

func TestCaseB03ATimeoutBelowTheThresholdUsedUpAllTheTimeThereWas(t *testing.T) {
	for _, counted := range []bool{true, false} {
		w := start(t, fmt.Sprintf(`{"confirm_count": 3, "count_timeouts": %t}`, counted), 1)
		var things []at
		for _, start := range []float64{0, 5, 10} {
			var c *call
			things = append(things,
				at{start, func() { c = w.sendTo(0, hostA) }},
				at{start + 60, func() { c.reply("504", "response_timeout") }})
		}
		w.happens(things...)
		if counted {
			assert.Equal(t, 70.0, w.since(hostA))
			assert.EqualValues(t, 3, w.metric("samples"))
			assert.Empty(t, w.logged("warning", "count_timeouts"))
		} else {
			assert.Zero(t, w.metric("samples"))
			assert.Len(t, w.logged("warning", "count_timeouts=false"), 1)
		}
	}
}

// B04: users who press Stop take a healthy endpoint away. (resilience4j 682, brpc 3532)
func TestCaseB04ClientsThatLeaveSayNothing(t *testing.T) {
	for _, interval := range []string{"0s", "500ms"} {
		w := start(t, fmt.Sprintf(`{"confirm_count": 3, "check_interval": %q}`, interval), 1)
		var things []at
		for i := range 200 {
			var c *call
			begin := 229.9 * float64(i) / 199 // the last one leaves at 299.8
			things = append(things,
				at{begin, func() { c = w.sendTo(0, hostA) }},
				at{begin + 69.9, func() { c.leaves() }})
		}
		var slow *call
		things = append(things,
			at{225.8, func() { slow = w.sendTo(0, hostA) }},
			at{300.8, func() { slow.answer() }})
		w.happens(things...)
		assert.EqualValues(t, 1, w.metric("samples"), "the slow answer, one second after an abort")
		assert.Zero(t, w.metric("samples_deduplicated"))
		assert.Empty(t, w.entries())
	}
}

// B06: reasoning takes minutes by nature. (go-zero 5195, LiteLLM 3574)
func TestCaseB06ALongStreamIsNotSlow(t *testing.T) {
	for _, interval := range []string{"0s", "500ms"} {
		w := start(t, fmt.Sprintf(`{"confirm_count": 3, "check_interval": %q}`, interval), 1)
		var things []at
		for i := range 20 {
			var c *call
			begin := float64(5 * i)
			things = append(things,
				at{begin, func() { c = w.sendTo(0, hostA) }},
				at{begin + 0.2, func() { c.headers("text/event-stream") }},
				at{begin + 1.5, func() { c.chunk("data: 1\n\n", false) }},
				at{begin + 180, func() { c.chunk("data: [DONE]\n\n", true); c.done() }})
		}
		w.happens(things...)
		assert.Zero(t, w.metric("samples"))
	}
}

func TestCaseB06ALateFirstChunkIs(t *testing.T) {
	for interval, since := range map[string]float64{"0s": 82, "500ms": 80} {
		w := start(t, fmt.Sprintf(`{"confirm_count": 3, "check_interval": %q}`, interval), 1)
		var things []at
		for _, begin := range []float64{0, 5, 10} {
			var c *call
			things = append(things,
				at{begin, func() { c = w.sendTo(0, hostA) }},
				at{begin + 0.2, func() { c.headers("text/event-stream") }},
				at{begin + 72, func() { c.chunk("data: 1\n\n", false) }},
				at{begin + 74, func() { c.chunk("data: [DONE]\n\n", true); c.done() }})
		}
		w.happens(things...)
		assert.Equal(t, since, w.since(hostA))
		assert.EqualValues(t, 3, w.metric("samples"))
	}
}

// B15: replies made inside the proxy are taken for answers of an upstream. (envoy 11447, 4692)
func TestCaseB15RepliesOfTheProxyAreNobodysSample(t *testing.T) {
	for _, reply := range []struct {
		after           float64
		status, details string
	}{
		{71, "401", "ext_authz_denied"},
		{75, "429", "request_rate_limited"},
		{0, "200", "direct_response"},
		{75, "200", "direct_response"},
		{0, "503", "no_healthy_upstream"},
		{75, "503", "no_healthy_upstream"},
		{75, "503", "upstream_reset_before_response_started{overflow}"},
		{75, "503", "fault_filter_abort"},
		{75, "403", "rbac_access_denied_matched_policy[none]"},
		{300, "408", "request_overall_timeout"},
	} {
		for _, interval := range []string{"0s", "500ms"} {
			t.Run(fmt.Sprintf("%s after %g s, looked at every %s", reply.details, reply.after, interval), func(t *testing.T) {
				w := start(t, fmt.Sprintf(`{"confirm_count": 1, "dedup_window": "0s", "check_interval": %q}`, interval), 1)
				c := w.sendTo(0, hostA)
				c.SetUpstream("", 0)
				w.to(reply.after)
				c.reply(reply.status, reply.details)
				assert.Empty(t, w.entries())
				assert.Zero(t, w.metric("samples"))
				assert.Zero(t, w.metric("samples_unattributed"))
			})
		}
	}
}

// An Envoy that does not say who replied: there is no address, so there is nobody to blame.
func TestCaseB15WithoutAnAddressThereIsNobodyToBlame(t *testing.T) {
	for _, contentType := range []string{"text/plain", "text/event-stream"} {
		w := start(t, `{"confirm_count": 1, "check_interval": "0s"}`, 1)
		c := w.sendTo(0, hostA)
		c.SetUpstream("", 0)
		c.HideProperty("response.code_details")
		w.to(75)
		c.answerAs(contentType)
		assert.Empty(t, w.entries())
		assert.Zero(t, w.plugin.Metric("endpoint_breaker.metric.samples"), "of no cluster")
		w.send(0).answer()
		assert.Zero(t, w.total("shared_data_damaged"))
	}
}
