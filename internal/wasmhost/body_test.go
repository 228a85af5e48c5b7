package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABufferedBodyIsSeenAsAWholeWithTheNewChunk(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request(
		"do-request-body", "return 1|return 1|body request 0 100; body request 2 3; body request 99 1; body-size request"), false))
	flowOf(t, FlowStopped)(s.RequestData([]byte("abc"), false))
	flowOf(t, FlowStopped)(s.RequestData([]byte("def"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("gh"), true))
	assert.Equal(t, []string{"abcdefgh", "cde", "error: not found", "8"}, p.results())
	body, ended := s.TakeRequestBody()
	assert.Equal(t, "abcdefgh", string(body))
	assert.True(t, ended)
}

func TestABodyHeldBackByWatermarkIsShownChunkByChunk(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-body", "return 2|body request 0 100"), false))
	flowOf(t, FlowStopped)(s.RequestData([]byte("abc"), false))
	flowOf(t, FlowContinue)(s.RequestData([]byte("def"), true))
	assert.Equal(t, []string{"def"}, p.results())
	body, _ := s.TakeRequestBody()
	assert.Equal(t, "abcdef", string(body))
}

func TestABodyCanBeChanged(t *testing.T) {
	for script, want := range map[string]string{
		"body-append request >":              "body>",
		"body-prepend request <":             "<body",
		"body-replace request new":           "new",
		"body-replace request":               "",
		"body-set request 1 1":               "body",
		"body-replace request x; return 1|.": "xmore",
	} {
		t.Run(script, func(t *testing.T) {
			p := startProbe(t)
			s := p.open()
			defer closeStreamOf(t, s)
			_, err := s.RequestHeaders(request("do-request-body", script), false)
			require.NoError(t, err)
			flow, err := s.RequestData([]byte("body"), false)
			require.NoError(t, err)
			if flow == FlowStopped {
				flowOf(t, FlowContinue)(s.RequestData([]byte("more"), true))
			}
			body, _ := s.TakeRequestBody()
			assert.Equal(t, want, string(body))
		})
	}
}

func TestAnEmptyLastPieceIsNotLostWhenItIsStopped(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-body", "return 3"), false))
	flowOf(t, FlowStopped)(s.RequestData(nil, true))
	_, ended := s.TakeRequestBody()
	require.False(t, ended)
	p.tickScript("effective 2; continue request")
	require.NoError(t, p.Worker(0).Tick())
	_, ended = s.TakeRequestBody()
	assert.True(t, ended)
}
