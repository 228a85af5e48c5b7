package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThePluginCanAddTrailersAtTheEndOfABody(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-body", "header-add request-trailers a 1"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("x"), false))
	assert.Equal(t, []string{"status 2"}, p.results(), "not before the last piece")
	flowOf(t, FlowContinue)(s.RequestData([]byte("y"), true))
	assert.Equal(t, []string{"ok"}, p.results())
	body, ended := s.TakeRequestBody()
	assert.Equal(t, "xy", string(body))
	assert.True(t, ended)
	assert.Equal(t, Headers{{"a", "1"}}, s.RequestTrailersNow())
}

func TestThePluginCanAddTrailersAtTheEndOfABufferedBody(t *testing.T) {
	for name, script := range map[string]string{
		"held before":  "return 1|header-add request-trailers a 1",
		"held with it": ".|header-add request-trailers a 1; return 1",
	} {
		t.Run(name, func(t *testing.T) {
			p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
			s := p.open()
			defer closeStreamOf(t, s)
			flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-body", script), false))
			_, err := s.RequestData([]byte("x"), false)
			require.NoError(t, err)
			_, err = s.RequestData([]byte("y"), true)
			require.NoError(t, err)
			p.tickScript("effective 2; continue request")
			require.NoError(t, p.Worker(0).Tick())
			body, ended := s.TakeRequestBody()
			assert.Equal(t, "xy", string(body))
			assert.True(t, ended)
			assert.Equal(t, Headers{{"a", "1"}}, s.RequestTrailersNow())
			assert.Contains(t, p.results(), "ok")
		})
	}
}

func TestContinueClosesTheRequestsTrailersThatCouldBeAdded(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-body", "return 1|continue request; header-add request-trailers a 1"), false))
	flowOf(t, FlowStopped)(s.RequestData([]byte("x"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("y"), true))
	assert.Equal(t, []string{"ok", "status 2"}, p.results())
	assert.Empty(t, s.RequestTrailersNow())
}
