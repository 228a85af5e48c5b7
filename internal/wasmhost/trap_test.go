package wasmhost

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPanicOfTheGuestIsSeenInTheLog(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	p.said()
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "print out; write unended; panic at-the-disco"), true))
	var stdout, stderr, host []string
	for _, line := range p.heard() {
		switch line.Source {
		case FromStdout:
			stdout = append(stdout, line.Message)
		case FromStderr:
			assert.Equal(t, LogError, line.Level)
			stderr = append(stderr, line.Message)
		case FromHost:
			host = append(host, line.String())
		}
	}
	assert.Equal(t, []string{"out", "unended"}, stdout)
	assert.Equal(t, "panic: at-the-disco", stderr[0])
	assert.Contains(t, strings.Join(stderr, "\n"), "OnHttpRequestHeaders", "the Go runtime's trace")
	require.Len(t, host, 1)
	assert.Contains(t, host[0], "[critical] [worker 0] [host] the VM is dead, trapped in proxy_on_request_headers")
}

func TestUnderFailOpenADeadFilterIsAbsent(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Workers = 2 })
	inFlight := p.open()
	defer closeStreamOf(t, inFlight)
	flowOf(t, FlowStopped)(inFlight.RequestHeaders(request("do-request-headers", "return 1"), false))

	victim := p.open()
	flowOf(t, FlowContinue)(victim.RequestHeaders(request("do-request-headers", "panic now"), false))
	assert.True(t, victim.Released())
	var trap *TrapError
	require.ErrorAs(t, p.Worker(0).Trapped(), &trap)
	assert.Equal(t, "proxy_on_request_headers", trap.Phase)
	p.said()

	flowOf(t, FlowContinue)(inFlight.RequestData([]byte("x"), true))
	assert.True(t, inFlight.Released(), "what it held goes on with the next piece")
	flowOf(t, FlowContinue)(victim.ResponseHeaders(response(), true))
	require.NoError(t, victim.Close())
	later := p.open()
	flowOf(t, FlowContinue)(later.RequestHeaders(request("do-request-headers", "reply 500 x"), true))
	flowOf(t, FlowContinue)(later.ResponseHeaders(response(), true))
	require.NoError(t, later.Close())
	assert.Empty(t, p.said(), "no callbacks")
	assert.Zero(t, p.Worker(0).TickPeriod())
	assert.Zero(t, p.Worker(0).MemoryBytes())
	require.NoError(t, p.Worker(0).Tick(), "it trapped before this tick")

	require.NoError(t, p.Worker(1).Trapped())
	other, err := p.Worker(1).NewStream(testRoute)
	require.NoError(t, err)
	defer closeStreamOf(t, other)
	flowOf(t, FlowContinue)(other.RequestHeaders(request("do-request-headers", "say alive"), true))
	assert.Equal(t, []string{"alive"}, p.results())
}

func TestUnderFailCloseADeadFilterAnswers503(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.FailPolicy = FailClose })
	started, headersSent := p.open(), p.open()
	flowOf(t, FlowContinue)(started.RequestHeaders(request(), true))
	flowOf(t, FlowContinue)(headersSent.RequestHeaders(request(), true))
	flowOf(t, FlowContinue)(headersSent.ResponseHeaders(response(), false))

	victim := p.open()
	flowOf(t, FlowReplied)(victim.RequestHeaders(request("do-request-headers", "panic now"), true))
	require.Error(t, p.Worker(0).Trapped())
	later := p.open()
	flowOf(t, FlowReplied)(later.RequestHeaders(request(), true))
	for _, s := range []*Stream{victim, later} {
		assert.False(t, s.Released())
		assert.Equal(t, &LocalReply{
			StatusCode: 503, Details: "wasm_fail_stream", GRPCStatus: 14, Headers: Headers{{":status", "503"}},
		}, s.LocalReply())
		_, ended := s.TakeResponseBody()
		assert.True(t, ended)
	}
	flowOf(t, FlowReplied)(started.ResponseHeaders(response(), true))
	flowOf(t, FlowReset)(headersSent.ResponseData([]byte("x"), true))
	for _, s := range []*Stream{started, headersSent, victim, later} {
		require.NoError(t, s.Close())
	}
	assert.Zero(t, p.Worker(0).OpenStreams())
}

func TestATrapInALocalReplysCallbackLetsTheReplyOut(t *testing.T) {
	for _, policy := range []FailPolicy{FailOpen, FailClose} {
		p := startProbe(t, func(o *Options) { o.FailPolicy = policy })
		s := p.open()
		flowOf(t, FlowReplied)(s.RequestHeaders(request("do-request-headers", "reply 429 busy", "do-response-headers", "panic now"), true))
		require.Error(t, p.Worker(0).Trapped())
		assert.Equal(t, uint32(429), s.LocalReply().StatusCode)
		assert.True(t, s.ResponseReleased())
		require.NoError(t, s.Close())
	}
}

func TestATickReportsTheTrapThatHappenedInIt(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
	p.tickScript("panic tock")
	err := p.Worker(0).Tick()
	require.ErrorContains(t, err, "worker 0 trapped in proxy_on_tick")
	require.NoError(t, p.Worker(0).Tick())
	require.NoError(t, p.Base().Trapped())
}

func TestATrapWhileBeingConfiguredFailsTheStart(t *testing.T) {
	_, options := newProbe(t, func(o *Options) { o.Configuration = "panic early" })
	_, err := Load(t.Context(), options)
	var trap *TrapError
	require.ErrorAs(t, err, &trap)
	assert.ErrorContains(t, err, "the base VM trapped in proxy_on_configure")
}

func TestSharedDataOutlivesATrap(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "shared-set k v; panic now"), true))
	require.NoError(t, s.Close())
	value, _, status := p.SharedData().Get("k")
	assert.Equal(t, StatusOK, status)
	assert.Equal(t, "v", string(value))
}

func TestAReconfigurationPassesOverDeadWorkers(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Workers = 2
		o.Faults = NewFaults(TrapIn(0, "proxy_on_request_headers"))
	})
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request(), true))
	require.NoError(t, s.Close())
	require.Error(t, p.Worker(0).Trapped())
	assert.True(t, p.Worker(0).module.IsClosed(), "its memory is given back")
	require.NoError(t, p.Reconfigure(t.Context(), "ticks 100"))
	assert.Positive(t, p.Worker(1).TickPeriod())
}

func TestATrapInTheModulesOwnStartFailsTheStart(t *testing.T) {
	p, options := newProbe(t, func(o *Options) { o.Env = map[string]string{"INIT": "panic early"} })
	_, err := Load(t.Context(), options)
	var trap *TrapError
	require.ErrorAs(t, err, &trap)
	assert.Equal(t, BaseVM, trap.Worker)
	assert.Equal(t, "_initialize", trap.Phase)
	lines := p.heard()
	require.NotEmpty(t, lines)
	assert.Contains(t, lines[len(lines)-1].String(), "[critical] [base] [host] the VM is dead, trapped in _initialize")
}
