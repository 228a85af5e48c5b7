package gateway

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// What happens to a stream outside of its own callbacks: in a tick, or when a call is answered.

// everyTick does something to every stream of the VM at every tick; everyAnswer at every Deliver.
func everyTick(act func(*fakeStream)) setting {
	return func(v *fakeVM) {
		v.period = time.Millisecond
		v.onTick = func() error { v.each(act); return nil }
	}
}

func everyAnswer(act func(*fakeStream)) setting {
	return func(v *fakeVM) {
		v.period = time.Millisecond
		v.onTick = func() error { v.pending++; return nil }
		v.onDeliver = func() error { v.each(act); return nil }
	}
}

// heldAt are the places where a request can wait for something from outside of its callbacks.
func heldAt() map[string]fakePlugin {
	stopData := func(*fakeStream, []byte, bool) wasmhost.Flow { return wasmhost.FlowStopped }
	stopResponse := func(*fakeStream) wasmhost.Flow { return wasmhost.FlowStopped }
	return map[string]fakePlugin{
		"the request headers":  {requestHeaders: stopHeaders, requestData: stopData},
		"the upstream":         {},
		"the response headers": {responseHeaders: stopResponse, responseData: stopData},
	}
}

// silentUnlessHeld answers at once where the plugin holds the answer, and else never.
func silentUnlessHeld(place string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if place == "the response headers" {
			_, _ = io.WriteString(w, "a")
			return
		}
		<-r.Context().Done()
	}
}

func TestALocalReplyFromOutsideOfTheStreamsCallbacksAnswersTheClient(t *testing.T) {
	reply := func(s *fakeStream) { s.replies(http.StatusServiceUnavailable, "no") }
	for from, setting := range map[string]setting{"a tick": everyTick(reply), "a call's answer": everyAnswer(reply)} {
		for place, plugin := range heldAt() {
			for _, body := range []string{"", "hello"} {
				t.Run(from+" at "+place+", body "+strconv.Quote(body), func(t *testing.T) {
					b := newBench(t, []string{newBackend(t, silentUnlessHeld(place))}, setting, pluginIs(plugin))
					b.client.Timeout = 10 * time.Second
					response, answer := b.do(t, http.MethodPost, body)
					assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
					assert.Equal(t, "no", answer)
					assert.Equal(t, "fake", b.log.next(t).Details)
				})
			}
		}
	}
}

func TestAResetFromATickClosesTheClientsConnection(t *testing.T) {
	for place, plugin := range heldAt() {
		t.Run(place, func(t *testing.T) {
			b := newBench(t, []string{newBackend(t, silentUnlessHeld(place))},
				everyTick(func(s *fakeStream) { s.wasReset = true }), pluginIs(plugin))
			b.client.Timeout = 10 * time.Second
			response, err := b.client.Post(b.URL(), "text/plain", http.NoBody)
			if err == nil {
				_ = response.Body.Close()
			}
			require.ErrorIs(t, err, io.EOF)
			assert.Equal(t, detailsPluginReset, b.log.next(t).Details)
		})
	}
}

func TestAnAnswerToThePluginsCallResumesTheStreamAlsoInAPluginThatNeverTicks(t *testing.T) {
	b := newBench(t, []string{newBackend(t, echo)},
		func(v *fakeVM) {
			v.onDeliver = func() error { v.each(func(s *fakeStream) { s.request.resume() }); return nil }
		},
		pluginIs(fakePlugin{requestHeaders: func(s *fakeStream, _ bool) wasmhost.Flow {
			s.vm.pending++
			return wasmhost.FlowStopped
		}}))
	b.client.Timeout = 10 * time.Second
	response, _ := b.do(t, http.MethodGet, "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
}
