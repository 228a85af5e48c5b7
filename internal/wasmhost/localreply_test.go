package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALocalReplyPassesTheResponseCallbacks(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	flowOf(t, FlowReplied)(s.RequestHeaders(request(
		"do-request-headers", "reply 429 too+many busy; reply 500 second; return 0",
		"do-response-headers", "header response :status; header-add response seen yes; property response.code_details",
		"do-response-body", "body response 0 9; body-append response !",
		"do-done", "property response.code"), false))
	assert.Equal(t, []string{"ok", "ok", "429", "ok", `"too_many"`, "busy", "ok"}, p.results(), "only the first reply counts")
	assert.False(t, s.Released())
	assert.Equal(t, &LocalReply{
		StatusCode: 429, Details: "too_many", GRPCStatus: -1, Body: []byte("busy!"),
		Headers: Headers{{":status", "429"}, {"from", "probe"}, {"content-length", "4"}, {"content-type", "text/plain"}, {"seen", "yes"}},
	}, s.LocalReply())

	p.said()
	flowOf(t, FlowReplied)(s.RequestData([]byte("late"), true))
	flowOf(t, FlowReplied)(s.ResponseHeaders(response(), true))
	assert.Empty(t, p.said(), "pieces that come after the reply reach nobody")
	require.NoError(t, s.Close())
	assert.Equal(t, []string{integer(429)}, p.results())
}

func TestALocalReplyWithoutABodyEndsWithItsHeaders(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowReplied)(s.RequestHeaders(request("do-request-headers", "reply 204 none"), true))
	assert.Contains(t, p.said(), "response headers size=2 end=true")
	assert.Equal(t, Headers{{":status", "204"}, {"from", "probe"}}, s.LocalReply().Headers)
	_, ended := s.TakeResponseBody()
	assert.True(t, ended)
}

func TestAGRPCRequestSeesALocalReplyAsItsStatus(t *testing.T) {
	for code, status := range map[string]string{"429": "14", "401": "16", "403": "7", "404": "12", "400": "13", "500": "2"} {
		p := startProbe(t)
		s := p.open()
		headers := Headers{{":method", "POST"}, {"content-type", "application/grpc"}, {"do-request-headers", "reply " + code + " d busy"}}
		flowOf(t, FlowReplied)(s.RequestHeaders(headers, false))
		assert.Equal(t, Headers{
			{":status", "200"}, {"from", "probe"}, {"content-type", "application/grpc"}, {"grpc-status", status}, {"grpc-message", "busy"},
		}, s.LocalReply().Headers)
		assert.Empty(t, s.LocalReply().Body)
		require.NoError(t, s.Close())
	}
}

func TestAHeadRequestGetsNoBody(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowReplied)(s.RequestHeaders(Headers{{":method", "HEAD"}, {"do-request-headers", "reply 500 d busy"}}, true))
	assert.Empty(t, s.LocalReply().Body)
}

func TestAReplyToAResponseOnItsWayGoesPastTheFilters(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-response-headers", "reply 500 bad sorry"), true))
	flowOf(t, FlowReplied)(s.ResponseHeaders(response(), false))
	assert.Equal(t, []string{"ok"}, p.results(), "no second round of callbacks")
	reply := s.LocalReply()
	assert.Equal(t, "sorry", string(reply.Body))
	status, _ := reply.Headers.Get(":status")
	assert.Equal(t, "500", status)
}

func TestAReplyAfterTheResponsesHeadersResetsTheStream(t *testing.T) {
	p := startProbe(t)
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-response-body", "reply 500 bad"), true))
	flowOf(t, FlowContinue)(s.ResponseHeaders(response(), false))
	flowOf(t, FlowReset)(s.ResponseData([]byte("x"), false))
	assert.True(t, s.WasReset())
	assert.Nil(t, s.LocalReply())
}

func TestAReplyStopsTheStreamWhoseCallbackSentIt(t *testing.T) {
	p := startProbe(t)
	other, sender := p.open(), p.open()
	defer closeStreamOf(t, sender)
	defer closeStreamOf(t, other)
	flowOf(t, FlowContinue)(other.RequestHeaders(request(), false))
	flowOf(t, FlowStopped)(sender.RequestHeaders(request("do-request-headers", "effective 2; reply 429 busy; return 0"), true))
	assert.Nil(t, sender.LocalReply())
	require.NotNil(t, other.LocalReply(), "the reply itself goes to the stream acted for")
}

func TestAReplyCanComeFromATick(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
	s := p.open()
	defer closeStreamOf(t, s)
	flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "return 1"), true))
	p.tickScript("effective 2; reply 504 slow")
	require.NoError(t, p.Worker(0).Tick())
	require.NotNil(t, s.LocalReply())
	assert.Equal(t, uint32(504), s.LocalReply().StatusCode)
}

func TestAClosedStreamIsReset(t *testing.T) {
	for script, details := range map[string]string{"close 0": "wasm_close_stream", "close 1": "wasm_close_stream"} {
		p := startProbe(t)
		s := p.open()
		flowOf(t, FlowReset)(s.RequestHeaders(request("do-request-headers", script, "do-done", "property response.code_details"), false))
		flowOf(t, FlowReset)(s.RequestData(nil, true))
		p.said()
		require.NoError(t, s.Close())
		assert.Equal(t, []string{`"` + details + `"`}, p.results())
	}
}

func TestALocalRepliesHeadersAreMadeToFit(t *testing.T) {
	grpc := Headers{{"content-type", "application/grpc"}}
	for name, test := range map[string]struct {
		request Headers
		reply   LocalReply
		want    Headers
	}{
		"without a body there is no type and no length": {
			nil,
			LocalReply{StatusCode: 204, Headers: Headers{{"content-type", "text/html"}, {"content-length", "9"}}},
			Headers{{":status", "204"}},
		},
		"the plugin's type stays, its length does not": {
			nil,
			LocalReply{StatusCode: 500, Headers: Headers{{"content-type", "text/html"}, {"content-length", "9"}}, Body: []byte("busy")},
			Headers{{":status", "500"}, {"content-type", "text/html"}, {"content-length", "4"}},
		},
		"a gRPC reply has no length": {
			grpc,
			LocalReply{StatusCode: 429, Headers: Headers{{"content-length", "9"}}, GRPCStatus: grpcUnset},
			Headers{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "14"}},
		},
		"the gRPC status that was asked for": {
			grpc,
			LocalReply{StatusCode: 429, GRPCStatus: 8},
			Headers{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "8"}},
		},
		"the plugin's own gRPC status stays": {
			grpc,
			LocalReply{StatusCode: 429, Headers: Headers{{"grpc-status", "7"}}, GRPCStatus: 8},
			Headers{{":status", "200"}, {"grpc-status", "7"}, {"content-type", "application/grpc"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			headers, _ := finishReply(test.request, test.reply)
			assert.Equal(t, test.want, headers)
		})
	}
}
