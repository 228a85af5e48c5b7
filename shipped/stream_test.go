package shipped

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// A request is timed from its end to its answer, and held for no longer than the gateway needs.

// with returns the headers with some more.
func with(h wasmhost.Headers, more ...[2]string) wasmhost.Headers {
	return append(slices.Clone(h), more...)
}

// blockedWorld is a gateway on which A is blocked from 90 to 135, at 91.
func blockedWorld(t *testing.T, configuration string) *world {
	t.Helper()
	w := start(t, configuration, 1)
	w.block(hostA)
	w.to(91)
	return w
}

func TestARequestThatHangsIsASampleWhenItReachesTheThreshold(t *testing.T) {
	w := start(t, `{}`, 1)
	w.to(0.25)
	hanging := w.sendTo(0, hostA)
	w.to(70)
	assert.Zero(t, w.metric("samples"), "one tick before")
	w.to(70.5)
	assert.EqualValues(t, 1, w.metric("samples"))
	w.to(500)
	hanging.answer()
	assert.EqualValues(t, 1, w.metric("samples"), "the answer, when it comes at last, is not another")
	assert.Zero(t, w.metric("samples_deduplicated"))
}

func TestASampleCountsFromTheMomentOfTheThresholdNotOfTheTick(t *testing.T) {
	w := start(t, `{}`, 1)
	first := w.sendTo(0, hostA)
	w.to(5)
	second := w.sendTo(0, hostA)
	w.clock.Advance(100e9) // no tick for 100 s
	w.tick()
	assert.Equal(t, int64(1), w.metric("blocks_enforced"), "five seconds lie between the two")
	first.done()
	second.done()
}

func TestAStreamThatEndsBetweenTwoTicksPastTheThresholdIsASample(t *testing.T) {
	w := start(t, `{}`, 1)
	w.to(0.25)
	c := w.sendTo(0, hostA)
	w.to(70.4)
	c.SetResponseDetails("downstream_remote_disconnect", 0x4000)
	c.done()
	assert.EqualValues(t, 1, w.metric("samples"))
}

func TestAClientThatLeavesBeforeTheThresholdSaysNothing(t *testing.T) {
	w := start(t, `{}`, 1)
	c := w.sendTo(0, hostA)
	w.to(69.9)
	c.SetResponseDetails("downstream_remote_disconnect", 0x4000)
	c.done()
	w.to(200)
	assert.Zero(t, w.metric("samples"))
}

func TestTheUploadIsNotTheEndpointsTime(t *testing.T) {
	for name, end := range map[string]func(*call) error{
		"last chunk":       func(c *call) error { _, err := c.RequestData([]byte("}"), true); return err },
		"empty last chunk": func(c *call) error { _, err := c.RequestData(nil, true); return err },
		"trailers":         func(c *call) error { _, err := c.RequestTrailers(wasmhost.Headers{{"x", "y"}}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, `{}`, 1)
			c := w.stream(0)
			_, err := c.RequestHeaders(post, false)
			require.NoError(t, err)
			c.routed(1)
			_, err = c.RequestData([]byte("{"), false)
			require.NoError(t, err)
			w.to(100)
			require.NoError(t, end(c))
			w.to(169.9)
			assert.Zero(t, w.metric("samples"))
			w.to(170.5)
			assert.EqualValues(t, 1, w.metric("samples"))
			c.done()
		})
	}
}

func TestAStreamingAnswerIsMeasuredAtItsFirstChunk(t *testing.T) {
	for name, test := range map[string]struct {
		configuration, contentType string
		samples                    int64
	}{
		"auto, SSE":          {`{"check_interval": "0s"}`, "text/event-stream; charset=utf-8", 1},
		"auto, JSON":         {`{"check_interval": "0s"}`, "application/json", 0},
		"headers, SSE":       {`{"check_interval": "0s", "measure": "headers"}`, "text/event-stream", 0},
		"first_chunk, JSON":  {`{"check_interval": "0s", "measure": "first_chunk"}`, "application/json", 1},
		"in flight, SSE":     {`{}`, "text/event-stream", 1},
		"a threshold of 10s": {`{"first_chunk_threshold": "10s"}`, "text/event-stream", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, test.configuration, 1)
			c := w.sendTo(0, hostA)
			w.to(0.2)
			c.headers(test.contentType)
			w.to(72)
			c.chunk("data: first\n\n", false)
			w.to(300)
			c.chunk("data: [DONE]\n\n", true)
			c.done()
			assert.Equal(t, test.samples, w.metric("samples"))
		})
	}
}

func TestAnEmptyStreamIsMeasuredAtItsEnd(t *testing.T) {
	for name, end := range map[string]func(*call){
		"empty last chunk": func(c *call) { c.chunk("", true) },
		"trailers": func(c *call) {
			_, err := c.ResponseTrailers(wasmhost.Headers{{"grpc-status", "0"}})
			require.NoError(c.w.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, `{"check_interval": "0s"}`, 1)
			c := w.sendTo(0, hostA)
			c.headers("application/grpc")
			w.to(70)
			end(c)
			assert.EqualValues(t, 1, w.metric("samples"))
			c.done()
		})
	}
}

func TestARequestWithoutABodyIsNotHeldByAnOverride(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	c := w.stream(0)
	flow, err := c.RequestHeaders(get, true)
	require.NoError(t, err)
	assert.Equal(t, wasmhost.FlowContinue, flow)
	require.True(t, c.Released(), "it would hang")
	assert.NotEmpty(t, c.OverrideHost())
	c.done()
}

func TestARequestWithABodyWaitsForItWhenOverridden(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	c := w.stream(0)
	flow, err := c.RequestHeaders(post, false)
	require.NoError(t, err)
	assert.Equal(t, wasmhost.FlowStopped, flow)
	assert.False(t, c.Released())
	_, err = c.RequestData([]byte("{"), false)
	require.NoError(t, err)
	assert.True(t, c.Released(), "with the first chunk, not with the last")
	assert.Contains(t, []string{hostB, hostC}, c.OverrideHost())
	c.done()
}

func TestAClientThatWaitsForAnAnswerIsNotHeld(t *testing.T) {
	for name, headers := range map[string]wasmhost.Headers{
		"gRPC":   {{":method", "POST"}, {":path", "/llm.Chat/Stream"}, {":authority", "llm.example"}, {"content-type", "application/grpc+proto"}},
		"expect": with(post, [2]string{"expect", "100-Continue"}),
	} {
		t.Run(name, func(t *testing.T) {
			w := blockedWorld(t, threeConfirmations)
			c := w.stream(0)
			flow, err := c.RequestHeaders(headers, false)
			require.NoError(t, err)
			assert.Equal(t, wasmhost.FlowContinue, flow)
			require.True(t, c.Released())
			assert.NotEmpty(t, c.OverrideHost())
			c.done()
		})
	}
}

func TestTunnelsAreLeftAlone(t *testing.T) {
	for name, headers := range map[string]wasmhost.Headers{
		"WebSocket":                    with(get, [2]string{"connection", "keep-alive, Upgrade"}, [2]string{"upgrade", "websocket"}),
		"CONNECT":                      {{":method", "CONNECT"}, {":authority", "llm.example:443"}},
		"WebSocket in its plain order": with(get, [2]string{"connection", "Upgrade"}, [2]string{"upgrade", "WebSocket"}),
	} {
		t.Run(name, func(t *testing.T) {
			w := blockedWorld(t, `{"confirm_count": 3}`)
			before := w.metric("samples")
			c := w.stream(0)
			flow, err := c.RequestHeaders(headers, false)
			require.NoError(t, err)
			assert.Equal(t, wasmhost.FlowContinue, flow)
			assert.Empty(t, c.OverrideHost())
			c.SetUpstream(hostB, 1)
			_, err = c.RequestData(nil, true)
			require.NoError(t, err)
			w.to(500)
			c.done()
			assert.Equal(t, before, w.metric("samples"))
		})
	}
}

func TestOnlyTheEndpointThatHadTheRequestIsBlamed(t *testing.T) {
	for name, test := range map[string]struct {
		prepare      func(*call)
		samples      int64
		unattributed int64
	}{
		"an answer of the upstream":        {func(*call) {}, 1, 0},
		"a reply of Envoy":                 {func(c *call) { c.SetUpstream("", 0); c.SetResponseDetails("direct_response", 0) }, 0, 0},
		"a response timeout":               {func(c *call) { c.SetResponseDetails("response_timeout", 4) }, 1, 0},
		"a response timeout on a retry":    {func(c *call) { c.SetUpstream(hostA, 2); c.SetResponseDetails("response_timeout", 4) }, 0, 1},
		"no address":                       {func(c *call) { c.SetUpstream("", 0) }, 0, 0},
		"a second attempt":                 {func(c *call) { c.SetUpstream(hostA, 2) }, 0, 1},
		"an Envoy without attempt counts":  {func(c *call) { c.HideProperty("upstream.request_attempt_count") }, 1, 0},
		"an Envoy without details":         {func(c *call) { c.HideProperty("response.code_details") }, 1, 0},
		"an Envoy without addresses":       {func(c *call) { c.HideProperty("upstream.address") }, 0, 0},
		"an attempt count that is no such": {func(c *call) { c.SetProperty("upstream.request_attempt_count", []byte("two")) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, `{"check_interval": "0s"}`, 1)
			c := w.sendTo(0, hostA)
			w.to(75)
			c.SetResponseDetails("via_upstream", 0)
			test.prepare(c)
			_, err := c.ResponseHeaders(wasmhost.Headers{{":status", "200"}}, true)
			require.NoError(t, err)
			c.done()
			assert.Equal(t, test.samples, w.metric("samples"))
			assert.Equal(t, test.unattributed, w.metric("samples_unattributed"))
		})
	}
}

func TestATimeoutIsASampleBecauseTheEndpointHadAllTheTimeThatTheRouteGives(t *testing.T) {
	for _, test := range []struct {
		configuration string
		seconds       float64
		samples       int64
	}{
		{`{"check_interval": "0s"}`, 0.1, 1},
		{`{"check_interval": "0s"}`, 69.9, 1},
		{`{}`, 70.3, 1}, // between two ticks
		// Without count_timeouts only the threshold matters.
		{`{"check_interval": "0s", "count_timeouts": false}`, 69.9, 0},
		{`{"check_interval": "0s", "count_timeouts": false}`, 70, 1},
		{`{"count_timeouts": false}`, 70.3, 1},
		{`{"check_interval": "0s", "count_timeouts": false, "first_chunk_threshold": "90s"}`, 80, 0}, // it might have been a stream
		{`{"check_interval": "0s", "count_timeouts": false, "first_chunk_threshold": "90s"}`, 90, 1},
	} {
		w := start(t, test.configuration, 1)
		w.to(0.1)
		c := w.sendTo(0, hostA)
		w.to(0.1 + test.seconds)
		c.reply("504", "response_timeout")
		assert.Equal(t, test.samples, w.metric("samples"), "%s after %g s", test.configuration, test.seconds)
	}
}

// Envoy's limit for the duration of a stream, unlike a route's timeout, runs from the request's
// beginning: it says nothing of how long the endpoint had the whole request.
func TestALimitThatTheUploadHasUsedUpIsNotTheEndpointsFault(t *testing.T) {
	for complete, samples := range map[float64]int64{60: 0, 5: 1} {
		w := start(t, `{"check_interval": "0s"}`, 1)
		c := upload(w)
		w.to(complete)
		_, err := c.RequestData([]byte("}"), true)
		require.NoError(t, err)
		w.to(76)
		c.reply("504", "upstream_max_stream_duration_reached")
		assert.Equal(t, samples, w.metric("samples"), "complete at %g s", complete)
	}
}

func TestARequestInFlightThatNobodyHasIsLookedAtAgain(t *testing.T) {
	w := start(t, `{}`, 1)
	c := w.sendTo(0, hostA)
	c.SetUpstream("", 0)
	w.to(100)
	assert.Zero(t, w.metric("samples"))
	c.SetUpstream(hostA, 1)
	w.to(139.9)
	assert.Zero(t, w.metric("samples"), "it would be A's sample only after a threshold of its own")
	w.to(141)
	assert.EqualValues(t, 1, w.metric("samples"))
	c.done()
}

func TestARequestInFlightInItsSecondAttemptIsLookedAtAgainOneThresholdLater(t *testing.T) {
	w := start(t, `{}`, 1)
	c := w.sendTo(0, hostA)
	c.SetUpstream(hostB, 2)
	w.to(139.9)
	assert.Zero(t, w.metric("samples"), "nobody knows how long it has been there")
	w.to(140.5)
	assert.EqualValues(t, 1, w.metric("samples"), "now it is known to have been there for 70 s")
	w.to(300)
	c.done()
	assert.EqualValues(t, 1, w.metric("samples"))
	assert.Zero(t, w.metric("samples_unattributed"))
}

func TestASecondAttemptThatEndsBeforeItWasThereForTheThresholdIsNobodys(t *testing.T) {
	for name, end := range map[string]func(*call){
		"the client leaves": func(c *call) { c.leaves() },
		"a reset":           func(c *call) { c.reply("503", "upstream_reset_before_response_started{connection_termination}") },
		"no details":        func(c *call) { c.done() },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, `{}`, 1)
			c := w.sendTo(0, hostA)
			c.SetUpstream(hostB, 2)
			w.to(139.9)
			end(c)
			assert.Zero(t, w.metric("samples"))
			assert.EqualValues(t, 1, w.metric("samples_unattributed"))
		})
	}
}

func TestAnOverrideThatWasNotHonouredIsCountedAndTheRealHostBlamed(t *testing.T) {
	w := start(t, `{"override": "always", "check_interval": "0s"}`, 1)
	c := w.send(0)
	require.NotEmpty(t, c.OverrideHost())
	c.SetUpstream("10.0.0.9:8000", 1)
	w.to(75)
	c.answer()
	assert.EqualValues(t, 1, w.metric("overrides_missed"))
	assert.EqualValues(t, 1, w.metric("samples"))
	d := w.send(0)
	w.to(150)
	d.answer()
	assert.EqualValues(t, 1, w.metric("overrides_missed"), "an override that held is not")
}

func TestAFailedStatusIsNoSampleUnlessItIsLate(t *testing.T) {
	w := start(t, `{"check_interval": "0s"}`, 1)
	answer := func(c *call) {
		c.SetResponseDetails("via_upstream", 0)
		_, err := c.ResponseHeaders(wasmhost.Headers{{":status", "503"}}, true)
		require.NoError(t, err)
		c.done()
	}
	answer(w.sendTo(0, hostA))
	assert.Zero(t, w.metric("samples"))
	c := w.sendTo(0, hostA)
	w.to(70)
	answer(c)
	assert.EqualValues(t, 1, w.metric("samples"))
}

func TestTheFirstChunkIsTheFirstNonEmptyOne(t *testing.T) {
	w := start(t, `{"check_interval": "0s"}`, 1)
	c := w.sendTo(0, hostA)
	c.headers("text/event-stream")
	w.to(10)
	c.chunk("", false)
	w.to(72)
	c.chunk("data: first\n\n", false)
	assert.EqualValues(t, 1, w.metric("samples"))
	c.done()
}

// Its endpoint was chosen at 89, A has been blocked since 90, and the upload lasts until 95.
func TestARequestStartsWhenItsEndpointIsChosenNotWhenItIsComplete(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	var calls []*call
	for _, second := range []float64{5, 10, 15} {
		w.to(second)
		calls = append(calls, w.sendTo(0, hostA))
	}
	w.to(80)
	calls[0].answer()
	w.to(85)
	calls[1].answer()
	w.to(89)
	uploading := w.stream(0)
	_, err := uploading.RequestHeaders(post, false)
	require.NoError(t, err)
	uploading.SetUpstream(hostA, 1)
	w.to(90)
	calls[2].answer()
	require.Contains(t, w.blocked(), hostA)
	w.to(95)
	_, err = uploading.RequestData([]byte("{}"), true)
	require.NoError(t, err)
	w.to(170)
	uploading.answer()
	assert.EqualValues(t, 1, w.metric("samples_stale"))
	assert.EqualValues(t, 3, w.metric("samples"))
}

func TestTheTimeBeforeAnEndpointHasTheRequestIsNotItsTime(t *testing.T) {
	for name, answer := range map[string]func(*call){
		"JSON": func(c *call) { c.answer() },
		"SSE": func(c *call) {
			c.headers("text/event-stream")
			c.w.to(101)
			c.chunk("data: x\n\n", true)
			c.done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, `{}`, 1)
			c := w.sendTo(0, hostA)
			c.SetUpstream("", 0)
			w.to(100)
			c.SetUpstream(hostA, 1)
			w.to(100.2)
			answer(c)
			assert.Zero(t, w.metric("samples"))
		})
	}
}

func TestAPostThatUpgradesIsNotHeld(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	c := w.stream(0)
	flow, err := c.RequestHeaders(with(post, [2]string{"connection", "Upgrade"}, [2]string{"upgrade", "SPDY/3.1"}), false)
	require.NoError(t, err)
	assert.Equal(t, wasmhost.FlowContinue, flow)
	c.done()
}

func TestHostsThatAreNotHealthyAreNotChosenAndOnesWithoutAWordAre(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	w.hosts[1].Health = ""
	for _, health := range []string{"Unhealthy", "Degraded", "healthy", "Timeout"} {
		w.hosts[2].Health = health
		for range 4 {
			c := w.send(0)
			assert.Equal(t, hostB, c.OverrideHost(), health)
			c.answer()
		}
	}
}

func TestLeastRequestCountsTheRequestsInFlight(t *testing.T) {
	w := blockedWorld(t, `{"confirm_count": 3, "check_interval": "0s", "pick": "least_request"}`)
	open := map[string][]*call{}
	for range 40 {
		c := w.send(0)
		open[c.endpoint] = append(open[c.endpoint], c)
	}
	require.Len(t, open, 2)
	for _, c := range open[hostB] {
		c.answer()
	}
	chosen := map[string]int{}
	for range 60 {
		c := w.send(0)
		chosen[c.endpoint]++
		c.answer()
	}
	assert.Greater(t, chosen[hostB], 38, "three of four, not one of two: C still has its requests")
}

func TestTheCapOnBlockedHostsIsCounted(t *testing.T) {
	w := start(t, `{"confirm_count": 3, "check_interval": "0s", "max_blocked_percent": 50}`, 1)
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90}, late{hostB, 81}, late{hostB, 86}, late{hostB, 91})
	w.to(92)
	for range 4 {
		c := w.send(0)
		assert.Contains(t, []string{hostA, hostC}, c.OverrideHost(), "A is back in, B was blocked last")
		c.answer()
	}
	assert.EqualValues(t, 4, w.metric("capped_requests_enforced"))
	assert.EqualValues(t, 4, w.metric("overrides_enforced"))
}

func TestAnExtensionIsCountedAndLogged(t *testing.T) {
	w := start(t, `{"confirm_count": 1, "check_interval": "0s", "slow_threshold": "1s", "block_ttl": "60s"}`, 1)
	w.hosts = w.hosts[:1]
	first := w.sendTo(0, hostA)
	w.to(2)
	first.answer()
	bypassing := w.sendTo(0, hostA)
	w.to(10)
	bypassing.answer()
	assert.Equal(t, map[string]float64{hostA: 70}, w.blocked())
	assert.EqualValues(t, 1, w.metric("extensions_enforced"))
	assert.Len(t, w.logged("endpoint-breaker extend", "endpoint="+hostA, "for=1m0s"), 1)
}

func TestARequestWithoutAClusterIsLeftAloneAndNoError(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	c := w.stream(0)
	c.HideProperty("cluster_name")
	flow, err := c.RequestHeaders(post, false)
	require.NoError(t, err)
	assert.Equal(t, wasmhost.FlowContinue, flow)
	assert.Empty(t, c.OverrideHost())
	c.done()
	assert.Zero(t, w.total("host_call_errors"))
}

func TestEntriesAreRememberedForTheLongestThresholdOfAllRules(t *testing.T) {
	w := start(t, `{"confirm_count": 1, "check_interval": "0s", "_rules_": [
		{"_match_route_": ["another"], "slow_threshold": "30m", "confirm_window": "10m"}]}`, 1)
	a := w.sendTo(0, hostA)
	w.to(100)
	a.answer()
	b := w.sendTo(0, hostB)
	w.to(145 + 1700)
	b.answer()
	assert.Len(t, w.entries(), 2, "A's block has ended 28 minutes ago")
}

func TestAnAnswerThatWasInTimeIsNotLookedAtAgain(t *testing.T) {
	w := start(t, `{}`, 1)
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		c := w.sendTo(0, hostA)
		w.clock.Advance(time.Second)
		c.headers(contentType)
		c.chunk("first", false)
		w.clock.Advance(200 * time.Second)
		w.tick()
		c.chunk("last", true)
		c.done()
	}
	assert.Zero(t, w.metric("samples"))
}
