package wasmhost

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const otherName = "auth"

// withOther lets the probe call one more cluster, otherName.
func withOther(cluster Cluster) func(*Options) {
	return func(o *Options) { o.Clusters = map[string]Cluster{otherName: cluster} }
}

// answerScript sets what the probe runs when an answer comes.
func (p *probe) answerScript(script string) {
	require.Equal(p.t, StatusOK, p.SharedData().Set("answer", []byte(script), 0))
}

// askedOf lets a stream make a call, delivers the answer, and gives how it came
// and what the script, run with it, came to.
func (p *probe) askedOf(call, script string) []string {
	p.t.Helper()
	p.answerScript(script)
	s := p.open()
	p.said()
	flowOf(p.t, FlowContinue)(s.RequestHeaders(request("do-request-headers", call), true))
	require.Equal(p.t, []string{"ok"}, p.results())
	require.NoError(p.t, p.Worker(0).Deliver())
	lines := p.heard()
	require.NotEmpty(p.t, lines)
	p.lines = slices.Clone(lines)
	answers := append([]string{lines[0].Message}, p.results()...)
	closeStreamOf(p.t, s)
	p.said()
	return answers
}

func TestAnHTTPCallGetsTheClustersAnswer(t *testing.T) {
	var asked []HTTPCall
	p := startProbe(t, withOther(Cluster{HTTP: func(c HTTPCall) (HTTPAnswer, error) {
		asked = append(asked, c)
		return HTTPAnswer{Headers: Headers{{":status", "201"}, {"X-A", "1"}}, Body: []byte("made"), Trailers: Headers{{"t", "1"}}}, nil
	}}))
	assert.Equal(t, []string{
		"http answer headers=2 body=4 trailers=1", ":status=201 x-a=1", "201", "made", "t=1",
	}, p.askedOf("http "+otherName+" question", "http-response; header call :status; http-body; http-trailers"))
	assert.Equal(t, []HTTPCall{{
		Headers: Headers{{":method", "GET"}, {":path", "/"}, {":authority", "a"}, {"content-length", "8"}}, Trailers: Headers{},
		Body: []byte("question"), Timeout: 100 * time.Millisecond,
	}}, asked)
	assert.Equal(t, []string{"error: not found"}, p.run("http-body"), "only while the callback runs")
}

func TestAnHTTPCallThatFindsNoConnectionGets503(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	answers := p.askedOf("http "+otherName, "header call :status; header call content-length")
	assert.Equal(t, []string{"http answer headers=3 body=98 trailers=0", "503", "98"}, answers)
}

func TestAnHTTPCallThatIsResetGetsNothing(t *testing.T) {
	p := startProbe(t, withOther(Cluster{HTTP: func(HTTPCall) (HTTPAnswer, error) { return HTTPAnswer{}, errors.New("reset") }}))
	assert.Equal(t, []string{"http answer headers=0 body=0 trailers=0", "status 2", "error: not found", "9 reset"},
		p.askedOf("http "+otherName, "header call :status; http-body; status"))
}

func TestAnHTTPCallNeedsTheHeadersOfARequest(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	assert.Equal(t, []string{"error: bad argument"}, p.run("http-incomplete "+otherName))
	assert.Zero(t, p.Worker(0).Pending())
}

func TestAGRPCCallThatFindsNoConnectionIsClosedAsUnavailable(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	p.answerScript("status")
	assert.Equal(t, []string{"token 1", "token 2", "ok"}, p.run("grpc-call "+otherName+"; grpc-call "+otherName+"; grpc-cancel 1"))
	p.said()
	require.NoError(t, p.Worker(0).Deliver())
	assert.Equal(t, []string{"grpc close context=1 token=2 code=14", "status -> 14 connection refused"}, p.said())
	assert.Equal(t, []string{"14 "}, p.run("status"))
}

func TestAGRPCStreamTakesMessagesUntilItFails(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	assert.Equal(t, []string{"token 1", "ok", "ok", "ok", "status 1"},
		p.run("grpc-stream "+otherName+"; grpc-send 1; grpc-close 1; grpc-cancel 1; grpc-send 1"), "closing ends the guest's side only")
	assert.Zero(t, p.Worker(0).Pending())
}

func TestAGRPCCallTakesNoMessagesAndEndsWhenItIsClosed(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	assert.Equal(t, []string{"call ok, stream ok, send status 2, close ok, cancel status 1, get-status ok 0"}, p.run("grpc "+otherName))
	assert.Equal(t, 1, p.Worker(0).Pending(), "the stream")
}

func TestACallThatIsCancelledByAnAnswerGetsNone(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	p.answerScript("grpc-cancel 2")
	p.run("grpc-call " + otherName + "; grpc-call " + otherName)
	p.said()
	require.NoError(t, p.Worker(0).Deliver())
	assert.Equal(t, []string{"grpc close context=1 token=1 code=14", "grpc-cancel 2 -> ok"}, p.said())
}

func TestTheStatusOfAFailureStaysUntilTheNextInItsPluginContext(t *testing.T) {
	var failure error
	p := startProbe(t, withOther(Cluster{HTTP: func(HTTPCall) (HTTPAnswer, error) { return HTTPAnswer{}, failure }}))
	for _, failure = range []error{errors.New("reset"), nil} {
		p.run("http " + otherName)
		require.NoError(t, p.Worker(0).Deliver())
		assert.Equal(t, []string{"9 "}, p.run("status"))
	}
	require.NoError(t, p.Reconfigure(t.Context(), ""))
	assert.Equal(t, []string{"0 "}, p.run("status"))
}

func TestAStoppedStreamGoesOnFromTheAnswer(t *testing.T) {
	for script, want := range map[string]Flow{"continue request": FlowContinue, "reply 403 denied no": FlowReplied} {
		t.Run(script, func(t *testing.T) {
			p := startProbe(t, withOther(Cluster{}))
			p.answerScript(script)
			s := p.open()
			defer closeStreamOf(t, s)
			flowOf(t, FlowStopped)(s.RequestHeaders(request("do-request-headers", "http "+otherName+"; return 1"), false))
			require.NoError(t, p.Worker(0).Deliver())
			flowOf(t, want)(s.RequestData([]byte("x"), true))
			assert.Equal(t, want == FlowContinue, s.Released())
		})
	}
}

func TestAnAnswerOutlivesTheStreamThatAsked(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}))
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-done", "http "+otherName), true))
	require.NoError(t, s.Close())
	require.Equal(t, 1, p.Worker(0).Pending())
	require.NoError(t, p.Worker(0).Deliver())
	assert.EqualValues(t, 1, p.Worker(0).started[onHTTPCallResponse], "the plugin context gets it")
}

func TestAnAnswerToAnAnswerWaitsForTheNextDeliver(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}), func(o *Options) { o.Configuration = "http " + otherName })
	p.answerScript("http " + otherName)
	for range 3 {
		require.Equal(t, 1, p.Worker(0).Pending())
		require.NoError(t, p.Worker(0).Deliver())
	}
	assert.EqualValues(t, 3, p.Worker(0).started[onHTTPCallResponse])
}

func TestAPluginContextThatHasEndedGetsNoAnswer(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}), func(o *Options) { o.Configuration = "http " + otherName })
	require.NoError(t, p.Reconfigure(t.Context(), ""))
	p.said()
	require.NoError(t, p.Worker(0).Deliver())
	assert.Empty(t, p.said())
}

func TestATrapInAnAnswerEndsTheWorker(t *testing.T) {
	p := startProbe(t, withOther(Cluster{}), func(o *Options) { o.Configuration = "http " + otherName + "; http " + otherName })
	p.answerScript("panic boom")
	var trap *TrapError
	require.ErrorAs(t, p.Worker(0).Deliver(), &trap)
	assert.Equal(t, onHTTPCallResponse, trap.Phase)
	assert.EqualValues(t, 1, p.Worker(0).started[onHTTPCallResponse], "the second answer finds nobody")
	assert.NoError(t, p.Worker(0).Deliver())
}
