package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flowOf hands in one piece and wants it to end in a flow.
func flowOf(t *testing.T, want Flow) func(Flow, error) {
	t.Helper()
	return func(got Flow, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got, "got %s", got)
	}
}

func TestARequestWithoutABodyHangsWhenItsHeadersAreStopped(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "override 10.0.0.1:80; return 1"), true))
	assert.False(t, s.Released())
	assert.Empty(t, s.OverrideHost(), "the router has not read it")
	require.NoError(t, s.Close())
	assert.False(t, s.Released())
	assert.Contains(t, p.said(), "stream done under context 1")
}

func TestStoppedHeadersGoOnWithTheFirstBodyCallbackThatContinues(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowStopped)(s.RequestHeaders(request(
		"do-request-headers", "override 10.0.0.1:80; return 1",
		"do-request-body", "return 3|override 10.0.0.2:80|"), false))
	flowOf(t, FlowStopped)(s.RequestData([]byte("dropped"), false))
	assert.False(t, s.Released())
	flowOf(t, FlowContinue)(s.RequestData([]byte("kept"), false))
	assert.True(t, s.Released())
	assert.Equal(t, "10.0.0.2:80", s.OverrideHost(), "read when the headers reach the router, not when they come")
	flowOf(t, FlowContinue)(s.RequestData([]byte(" and more"), true))
	body, ended := s.TakeRequestBody()
	assert.Equal(t, "kept and more", string(body))
	assert.True(t, ended)
}

func TestAnOverrideThatComesAfterTheRouterIsNotRead(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request(
		"do-request-headers", "override 10.0.0.1:80", "do-request-body", "override 10.0.0.2:80"), false))
	assert.Equal(t, "10.0.0.1:80", s.OverrideHost())
	flowOf(t, FlowContinue)(s.RequestData(nil, true))
	assert.Equal(t, "10.0.0.1:80", s.OverrideHost())
}

func TestStopAllKeepsTheBodyFromTheGuestUntilItContinues(t *testing.T) {
	for _, verdict := range []string{"3", "4"} {
		t.Run("return "+verdict, func(t *testing.T) {
			p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
			s := p.open()
			defer closeStreamOf(t, s)
			flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "return "+verdict), false))
			flowOf(t, FlowStopped)(s.RequestData([]byte("one "), false))
			flowOf(t, FlowStopped)(s.RequestData([]byte("two"), false))
			flowOf(t, FlowStopped)(s.RequestTrailers(Headers{{"t", "1"}}))
			assert.NotContains(t, p.said(), "request body size=4 end=false")
			p.tickScript("effective 2; continue request")
			require.NoError(t, p.Worker(0).Tick())
			assert.Contains(t, p.said(), "request body size=7 end=false")
			body, ended := s.TakeRequestBody()
			assert.True(t, s.Released())
			assert.Equal(t, "one two", string(body))
			assert.True(t, ended)
		})
	}
}

func TestContinueAndEndStreamIsContinue(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "return 2"), false))
	assert.True(t, s.Released())
}

func TestAStreamCanBeResumedFromATick(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "override a:1; return 1"), true))
	p.tickScript("effective 2; continue request")
	require.NoError(t, p.Worker(0).Tick())
	assert.True(t, s.Released())
	assert.Equal(t, "a:1", s.OverrideHost())
	_, ended := s.TakeRequestBody()
	assert.True(t, ended)
}

func TestTrailersEndTheRequest(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request(
		"do-request-trailers", "headers request-trailers; header-add request-trailers b 2"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("x"), false))
	_, ended := s.TakeRequestBody()
	require.False(t, ended)
	flowOf(t, FlowContinue)(s.RequestTrailers(Headers{{"a", "1"}}))
	_, ended = s.TakeRequestBody()
	assert.True(t, ended)
	assert.Equal(t, []string{"a=1", "ok"}, p.results())
	assert.Equal(t, Headers{{"a", "1"}, {"b", "2"}}, s.RequestTrailersNow())
}

func TestStoppedHeadersGoOnWithTrailersThatContinue(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowStopped)(s.RequestHeaders(request(
		"do-request-headers", "return 1", "do-request-body", "return 1", "do-request-trailers", "."), false))
	flowOf(t, FlowStopped)(s.RequestData([]byte("x"), false))
	flowOf(t, FlowContinue)(s.RequestTrailers(Headers{{"a", "1"}}))
	body, ended := s.TakeRequestBody()
	assert.True(t, s.Released())
	assert.Equal(t, "x", string(body))
	assert.True(t, ended)
}

func TestStoppedTrailersHoldTheEnd(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-trailers", "return 1"), false))
	flowOf(t, FlowStopped)(s.RequestTrailers(Headers{{"a", "1"}}))
	_, ended := s.TakeRequestBody()
	require.False(t, ended)
	p.tickScript("effective 2; continue request")
	require.NoError(t, p.Worker(0).Tick())
	_, ended = s.TakeRequestBody()
	assert.True(t, ended)
}

func TestTheResponsePassesTheSameWay(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request(
		"do-response-headers", "header response content-type; header-replace response content-type x/y; return 1",
		"do-response-body", "return 1|body response 0 9; body-replace response new",
		"do-response-trailers", "header response-trailers a"), true))
	flowOf(t, FlowStopped)(s.ResponseHeaders(response(), false))
	assert.False(t, s.ResponseReleased())
	flowOf(t, FlowStopped)(s.ResponseData([]byte("ab"), false))
	flowOf(t, FlowContinue)(s.ResponseData([]byte("cd"), false))
	assert.True(t, s.ResponseReleased())
	flowOf(t, FlowContinue)(s.ResponseTrailers(Headers{{"a", "1"}}))
	assert.Equal(t, []string{"text/plain", "ok", "abcd", "ok", "1"}, p.results())
	body, ended := s.TakeResponseBody()
	assert.Equal(t, "new", string(body))
	assert.True(t, ended)
	assert.Equal(t, Headers{{":status", "200"}, {"content-type", "x/y"}}, s.ResponseHeadersNow())
	assert.Equal(t, Headers{{"a", "1"}}, s.ResponseTrailersNow())
}

func TestInjectedDataGoesPastTheFilter(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request(
		"do-response-headers", "return 1", "do-response-body", "inject early; return 3|inject last end; return 3"), true))
	flowOf(t, FlowStopped)(s.ResponseHeaders(response(), false))
	flowOf(t, FlowStopped)(s.ResponseData([]byte("dropped"), false))
	assert.True(t, s.ResponseReleased())
	flowOf(t, FlowStopped)(s.ResponseData([]byte("dropped"), true))
	body, ended := s.TakeResponseBody()
	assert.Equal(t, "earlylast", string(body))
	assert.True(t, ended)
}

func TestAResponseWhoseRequestTheFilterNeverSawPassesUntouched(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	p.said()
	flowOf(t, FlowContinue)(s.ResponseHeaders(response(), true))
	assert.Empty(t, p.said())
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"stream done under context 1"}, p.said(), "the access log sees it all the same")
}

func TestAStreamClosesOnceAndLeavesNothing(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request(), false))
	require.Equal(t, 1, p.Worker(0).OpenStreams())
	p.said()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"stream done under context 1"}, p.said())
	assert.Zero(t, p.Worker(0).OpenStreams())
	assert.Zero(t, p.Worker(0).serving.streams)
}

func TestPiecesInAnImpossibleOrderAreErrors(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	_, err := s.RequestData(nil, false)
	require.ErrorContains(t, err, "RequestData")
	_, err = s.ResponseData(nil, false)
	require.ErrorContains(t, err, "ResponseData")
	flowOf(t, FlowContinue)(s.RequestHeaders(request(), true))
	_, err = s.RequestHeaders(request(), true)
	require.ErrorContains(t, err, "RequestHeaders")
	_, err = s.RequestTrailers(nil)
	require.ErrorContains(t, err, "RequestTrailers")
	flowOf(t, FlowContinue)(s.ResponseHeaders(response(), true))
	_, err = s.ResponseHeaders(response(), true)
	require.ErrorContains(t, err, "ResponseHeaders")
	_, err = s.ResponseTrailers(nil)
	require.ErrorContains(t, err, "ResponseTrailers")
	require.NoError(t, s.Close())
	_, err = s.ResponseHeaders(response(), true)
	require.ErrorContains(t, err, "closed=true")
}

func TestTheBaseVMTakesNoStreams(t *testing.T) {
	p := startProbe(t)
	_, err := p.Base().NewStream(testRoute)
	require.ErrorContains(t, err, "base VM")
}

func closeStreamOf(t *testing.T, s *Stream) {
	t.Helper()
	require.NoError(t, s.Close())
}

func TestDataIsInjectedIntoAnOpenResponseOnly(t *testing.T) {
	t.Run("none has begun", func(t *testing.T) {
		p := startProbe(t)
		s := p.open()
		defer closeStreamOf(t, s)
		flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "inject early"), true))
		assert.False(t, s.ResponseReleased())
		body, _ := s.TakeResponseBody()
		assert.Empty(t, body)
	})
	t.Run("it was reset", func(t *testing.T) {
		p := startProbe(t)
		s := p.open()
		defer closeStreamOf(t, s)
		flowOf(t, FlowContinue)(s.RequestHeaders(request("do-response-headers", "close 1; inject late"), true))
		flowOf(t, FlowReset)(s.ResponseHeaders(response(), false))
		assert.False(t, s.ResponseReleased())
	})
	t.Run("it was closed", func(t *testing.T) {
		p := startProbe(t)
		s := p.open()
		flowOf(t, FlowContinue)(s.RequestHeaders(request("do-done", "inject late"), true))
		flowOf(t, FlowContinue)(s.ResponseHeaders(response(), false))
		require.NoError(t, s.Close())
		body, _ := s.TakeResponseBody()
		assert.Empty(t, body)
	})
}
