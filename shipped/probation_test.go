package shipped

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `return: probation`: after its block an endpoint gets one request at a time, from each worker,
// until one of them was answered in time.

const probation = `{"return": "probation", "confirm_count": 3, "check_interval": "0s"}`

// returning is a gateway on which A's block has just ended, at 135.
func returning(t *testing.T, configuration string, workers int) *world {
	t.Helper()
	w := start(t, configuration, workers)
	w.block(hostA)
	w.to(135)
	require.Empty(t, w.blocked())
	return w
}

// probe is the next request of the worker, which must go to A.
func (w *world) probe(worker int) *call {
	w.t.Helper()
	c := w.sendTo(worker, hostB)
	require.Equal(w.t, hostA, c.OverrideHost(), "no probe")
	return c
}

// heldOut expects that nothing but a probe on its way goes to A.
func (w *world) heldOut(worker int) {
	w.t.Helper()
	for range 6 {
		c := w.sendTo(worker, hostA)
		assert.Contains(w.t, []string{hostB, hostC}, c.OverrideHost())
		c.answer()
	}
}

// returned expects that A is a host like any other, for this worker.
func (w *world) returned(worker int) {
	w.t.Helper()
	for range 6 {
		c := w.sendTo(worker, hostA)
		assert.Empty(w.t, c.OverrideHost())
		assert.Equal(w.t, hostA, c.endpoint)
		c.answer()
	}
}

func TestOneProbeOfAWorkerIsOnItsWayAtATime(t *testing.T) {
	w := returning(t, probation, 2)
	first, second := w.probe(0), w.probe(1)
	w.heldOut(0)
	w.heldOut(1)
	assert.EqualValues(t, 2, w.metric("probes_enforced"))
	first.answer()
	second.answer()
}

func TestAProbeInTimeMakesAHostLikeAnyOtherForItsWorker(t *testing.T) {
	w := returning(t, probation, 2)
	c := w.probe(0)
	w.to(135.2)
	c.answer()
	w.returned(0)
	other := w.probe(1)
	w.heldOut(1)
	other.answer()
	w.returned(1)
	assert.EqualValues(t, 2, w.metric("probes_enforced"))
}

// A status is no verdict, and a stream is in time when its first chunk is.
func TestWhatAnAnswerInTimeIs(t *testing.T) {
	for name, answer := range map[string]func(*call){
		"a 503":                           func(c *call) { c.answerWith("503") },
		"the first chunk of a stream":     func(c *call) { c.headers("text/event-stream"); c.chunk("data: 1\n\n", false) },
		"headers whose body is to come":   func(c *call) { c.headers("application/json") },
		"an answer just in time":          func(c *call) { c.w.to(204.999); c.answer() },
		"a stream that says nothing more": func(c *call) { c.answerAs("application/grpc") },
	} {
		t.Run(name, func(t *testing.T) {
			w := returning(t, probation, 1)
			answer(w.probe(0))
			w.returned(0)
		})
	}
}

func TestTheHeadersOfAStreamDoNotPassAProbe(t *testing.T) {
	w := returning(t, probation, 1)
	c := w.probe(0)
	c.headers("text/event-stream")
	w.heldOut(0)
	c.chunk("data: 1\n\n", true)
	w.returned(0)
}

func TestALateProbeBlocksAgainAtOnceAndAddsAStrike(t *testing.T) {
	for _, answer := range []func(*call){
		func(c *call) { c.answer() },
		func(c *call) { c.reply("504", "response_timeout") },
		func(c *call) { c.leaves() },
	} {
		w := returning(t, `{"return": "probation", "confirm_count": 3, "check_interval": "0s", "block_ttl_max": "10m"}`, 1)
		c := w.probe(0)
		w.to(205)
		answer(c)
		assert.Equal(t, map[string]float64{hostA: 295}, w.blocked(), "twice 45 s from 205 on")
		require.Len(t, w.entries(), 1)
		assert.Equal(t, 2, w.entries()[0].Strikes)
		assert.EqualValues(t, 4, w.metric("samples"), "one was enough")
		w.heldOut(0)
	}
}

// The other worker's probe was sent before the block that the first one led to.
func TestTwoLateProbesAreOneStrike(t *testing.T) {
	w := returning(t, probation, 2)
	first, second := w.probe(0), w.probe(1)
	w.to(205)
	first.answer()
	w.to(206)
	second.answer()
	assert.Equal(t, map[string]float64{hostA: 250}, w.blocked())
	require.Len(t, w.entries(), 1)
	assert.Equal(t, 2, w.entries()[0].Strikes)
	assert.EqualValues(t, 1, w.metric("samples_stale"))
}

func TestAProbeThatNeverEndsIsSeenByTheTickAndHoldsNobodyOut(t *testing.T) {
	w := start(t, `{"return": "probation", "confirm_count": 1}`, 1)
	w.sendTo(0, hostA)
	w.to(70)
	require.Equal(t, map[string]float64{hostA: 115}, w.blocked())
	w.to(115)
	w.probe(0)
	w.to(184.9)
	w.heldOut(0)
	require.Empty(t, w.blocked())
	w.to(185)
	assert.Equal(t, map[string]float64{hostA: 230}, w.blocked(), "blocked again at its threshold")
	w.to(230)
	w.probe(0).answer()
	w.returned(0)
	assert.Equal(t, 2, w.plugin.Worker(0).OpenStreams(), "neither of them has ended")
}

// Its clock never starts, so no tick sees it. What ends the probation then is the end of the
// endpoint's entry, ten minutes after its block.
func TestAProbeWhoseUploadNeverEndsHoldsItsEndpointOutForTenMinutesAtMost(t *testing.T) {
	w := returning(t, probation, 1)
	c := w.stream(0)
	_, err := c.RequestHeaders(post, false)
	require.NoError(t, err)
	_, err = c.RequestData([]byte("{"), false)
	require.NoError(t, err)
	require.Equal(t, hostA, c.OverrideHost())
	w.to(735)
	w.heldOut(0)
	w.to(735.1)
	w.returned(0)
}

// Nobody may have written the blocklist since, and only a write drops an entry.
func TestAnEntryTenMinutesAfterItsBlockEndsTheProbation(t *testing.T) {
	w := returning(t, probation, 1)
	w.to(735.1)
	w.returned(0)
}

func TestAProbeThatEndsWithoutAWordIsFollowedByTheNext(t *testing.T) {
	for name, end := range map[string]func(*call){
		"the client leaves":    func(c *call) { c.leaves() },
		"a connection failure": func(c *call) { c.reply("503", "upstream_reset_before_response_started{remote_connection_failure}") },
		"a reset":              func(c *call) { c.reply("503", "upstream_reset_before_response_started{connection_termination}") },
		"a filter's reply":     func(c *call) { c.SetUpstream("", 0); c.reply("429", "request_rate_limited") },
	} {
		t.Run(name, func(t *testing.T) {
			w := returning(t, probation, 1)
			for range 3 {
				c := w.probe(0)
				w.to((w.clock.Monotonic() - w.started).Seconds() + 1)
				end(c)
			}
			assert.EqualValues(t, 3, w.metric("samples"), "those of the block")
			w.probe(0).answer()
			w.returned(0)
		})
	}
}

func TestAProbeThatAnotherHostAnswersSaysNothingOfItsEndpoint(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		w := returning(t, probation, 1)
		c := w.probe(0)
		c.SetUpstream(hostB, 1)
		c.answer()
		w.probe(0).answer()
		w.returned(0)
	})
	t.Run("late", func(t *testing.T) {
		w := returning(t, probation, 1)
		c := w.probe(0)
		c.SetUpstream(hostB, 1)
		w.to(205)
		c.answer()
		assert.Empty(t, w.blocked(), "one sample of B, which is on no probation")
		assert.EqualValues(t, 4, w.metric("samples"))
		assert.EqualValues(t, 1, w.metric("overrides_missed"))
		w.probe(0).answer()
		w.returned(0)
	})
	t.Run("after a retry", func(t *testing.T) {
		w := returning(t, probation, 1)
		c := w.probe(0)
		c.SetUpstream(hostC, 2)
		c.answer()
		w.probe(0).answer()
	})
}

func TestWhileAllAreOnProbationEachIsProbedAndTheRestBalanced(t *testing.T) {
	w := start(t, probation, 1)
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90},
		late{hostB, 80.5}, late{hostB, 85.5}, late{hostB, 90.5},
		late{hostC, 81}, late{hostC, 86}, late{hostC, 91})
	w.to(140)
	var probes []*call
	probed := map[string]bool{}
	for range 3 {
		c := w.send(0)
		probed[c.OverrideHost()] = true
		probes = append(probes, c)
	}
	assert.Equal(t, map[string]bool{hostA: true, hostB: true, hostC: true}, probed)
	c := w.send(0)
	assert.Empty(t, c.OverrideHost(), "Envoy balances over all")
	c.answer()
	assert.EqualValues(t, 1, w.metric("bypasses_enforced"))
	for _, c := range probes {
		c.answer()
	}
	w.returned(0)
}

func TestABlockThatIsOverIsSeenByTheWorkersThatSendNothing(t *testing.T) {
	w := returning(t, probation, 2)
	w.probe(0).answer()
	w.to(600)
	w.returned(0)
	w.probe(1).answer()
	w.returned(1)
}

func TestObserveSendsNoProbes(t *testing.T) {
	w := start(t, `{"mode": "observe", "return": "probation", "confirm_count": 3, "check_interval": "0s"}`, 1)
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90})
	w.to(140)
	for range 6 {
		c := w.send(0)
		assert.Empty(t, c.OverrideHost())
		c.answer()
	}
	assert.Zero(t, w.metric("probes_observed")+w.metric("probes_enforced"))
}
