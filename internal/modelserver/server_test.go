package modelserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/modelserver"
)

const (
	wholeRequest  = `{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":3}`
	streamRequest = `{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":3,"stream":true}`
)

func newServer() *modelserver.Server {
	return modelserver.New(modelserver.Options{
		Name: "gpu-a", Model: "m", FirstToken: time.Second, PerToken: 100 * time.Millisecond,
	})
}

// call is one request on its way; done closes when it is over.
type call struct {
	response *httptest.ResponseRecorder
	took     time.Duration
	done     chan struct{}
}

func start(ctx context.Context, s *modelserver.Server, body string) *call {
	c := &call{response: httptest.NewRecorder(), done: make(chan struct{})}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	began := time.Now()
	go func() {
		defer close(c.done)
		s.ServeHTTP(c.response, request)
		c.took = time.Since(began)
	}()
	return c
}

func (c *call) wait() *call {
	<-c.done
	return c
}

func get(s *modelserver.Server, path string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	s.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
	return response
}

func TestAWholeAnswerTakesTheFirstTokenPlusTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t.Context(), newServer(), wholeRequest).wait()

		assert.Equal(t, 1200*time.Millisecond, c.took)
		assert.Equal(t, http.StatusOK, c.response.Code)
		assert.Equal(t, "gpu-a", c.response.Header().Get(modelserver.ServedByHeader))
		var answer struct {
			Object  string
			Model   string
			Choices []struct {
				Message struct{ Role, Content string }
			}
			Usage map[string]int
		}
		require.NoError(t, json.Unmarshal(c.response.Body.Bytes(), &answer))
		assert.Equal(t, "chat.completion", answer.Object)
		assert.Equal(t, "m", answer.Model)
		assert.Equal(t, "slow is better", answer.Choices[0].Message.Content)
		assert.Equal(t, map[string]int{"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}, answer.Usage)
	})
}

func TestAStreamSendsHeadersAtOnceAndThenTokenByToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startTimed(t.Context(), newServer(), streamRequest)
		<-w.done

		assert.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
		assert.Equal(t, []time.Duration{
			0, // headers
			1000 * time.Millisecond, 1100 * time.Millisecond, 1200 * time.Millisecond,
			1200 * time.Millisecond, // finish_reason
		}, w.flushed)
		events := strings.Split(strings.TrimSpace(w.Body.String()), "\n\n")
		require.Len(t, events, 5)
		assert.Contains(t, events[0], `"role":"assistant"`)
		assert.Contains(t, events[3], `"finish_reason":"stop"`)
		assert.Equal(t, "data: [DONE]", events[4])
	})
}

// timedWriter notes when each piece of an answer goes out; done closes when it is over.
type timedWriter struct {
	*httptest.ResponseRecorder
	began   time.Time
	flushed []time.Duration
	done    chan struct{}
}

func startTimed(ctx context.Context, s *modelserver.Server, body string) *timedWriter {
	w := &timedWriter{ResponseRecorder: httptest.NewRecorder(), began: time.Now(), done: make(chan struct{})}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	go func() {
		defer close(w.done)
		s.ServeHTTP(w, request)
	}()
	return w
}

func (w *timedWriter) Flush() { w.flushed = append(w.flushed, time.Since(w.began)) }

func TestUsageEndsAStreamThatAsksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.TrimSuffix(streamRequest, "}") + `,"stream_options":{"include_usage":true}}`
		c := start(t.Context(), newServer(), body).wait()
		assert.Contains(t, c.response.Body.String(), `"total_tokens":5`)
	})
}

func TestOnlyRequestsThatArriveDuringAFaultAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		before := start(t.Context(), s, wholeRequest)
		synctest.Wait()
		s.SlowDown(9 * time.Second)
		during := start(t.Context(), s, wholeRequest)

		assert.Equal(t, 1200*time.Millisecond, before.wait().took)
		assert.Equal(t, 10200*time.Millisecond, during.wait().took)
		assert.True(t, s.Slow())
	})
}

func TestAServerSlowsDownByDegrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var calls []*call
		for _, delay := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
			s.SlowDown(delay)
			calls = append(calls, start(t.Context(), s, wholeRequest))
			synctest.Wait()
		}
		s.SlowDown(time.Hour)
		calls = append(calls, start(t.Context(), s, wholeRequest))
		time.Sleep(time.Minute)
		s.Heal()

		var took []time.Duration
		for _, c := range calls {
			took = append(took, c.wait().took)
		}
		assert.Equal(t, []time.Duration{
			3200 * time.Millisecond, 5200 * time.Millisecond, 9200 * time.Millisecond,
			61200 * time.Millisecond, // healed after a minute
		}, took)
	})
}

func TestALateServerStillAnswersEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.SlowDown(9 * time.Second)
		for range 3 {
			c := start(t.Context(), s, wholeRequest).wait()
			assert.Equal(t, http.StatusOK, c.response.Code)
			assert.Equal(t, 10200*time.Millisecond, c.took)
		}
	})
}

func TestAStalledStreamStopsAfterItsFirstTokensUntilTheServerHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		before := startTimed(t.Context(), s, streamRequest)
		synctest.Wait()
		s.Stall(2)
		during := startTimed(t.Context(), s, streamRequest)
		time.Sleep(5 * time.Second)
		s.Heal()
		<-before.done
		<-during.done

		assert.Equal(t, []time.Duration{
			0, 1000 * time.Millisecond, 1100 * time.Millisecond, 1200 * time.Millisecond, 1200 * time.Millisecond,
		}, before.flushed, "a stream that had arrived before")
		assert.Equal(t, []time.Duration{
			0, 1000 * time.Millisecond, 1100 * time.Millisecond, // headers, two tokens
			5100 * time.Millisecond, 5100 * time.Millisecond, // the third and the end
		}, during.flushed)
	})
}

func TestAStallConcernsOnlyStreamsWithMoreTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Stall(3)
		stream := start(t.Context(), s, streamRequest)
		assert.Equal(t, 1200*time.Millisecond, stream.wait().took)
		s.Stall(0)
		whole := start(t.Context(), s, wholeRequest)
		assert.Equal(t, 1200*time.Millisecond, whole.wait().took)
	})
}

func TestWhoeverWaitsWhenTheServerHealsIsServedFromThenOn(t *testing.T) {
	faults := map[string]func(*modelserver.Server){
		"slow":              func(s *modelserver.Server) { s.SlowDown(time.Hour) },
		"hanging":           func(s *modelserver.Server) { s.Hang() },
		"stalled then slow": func(s *modelserver.Server) { s.Stall(1); s.SlowDown(time.Hour) },
		"hanging then slow": func(s *modelserver.Server) { s.Hang(); s.SlowDown(time.Hour) },
	}
	for name, begin := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				begin(s)
				waiting := start(t.Context(), s, wholeRequest)
				time.Sleep(5 * time.Second)
				s.Heal()
				after := start(t.Context(), s, wholeRequest)

				assert.Equal(t, 6200*time.Millisecond, waiting.wait().took)
				assert.Equal(t, 1200*time.Millisecond, after.wait().took)
				assert.False(t, s.Slow())
			})
		})
	}
}

func TestARequestThatWaitsOnAReplacedFaultHealsWithTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Hang()
		waiting := start(t.Context(), s, wholeRequest)
		synctest.Wait()
		s.SlowDown(time.Minute)
		time.Sleep(2 * time.Second)
		s.Heal()
		assert.Equal(t, 3200*time.Millisecond, waiting.wait().took)
	})
}

func TestAClientThatLeavesEndsItsRequest(t *testing.T) {
	faults := map[string]struct {
		begin  func(*modelserver.Server)
		body   string
		tokens int
	}{
		"hanging":         {(*modelserver.Server).Hang, wholeRequest, 0},
		"hanging, stream": {(*modelserver.Server).Hang, streamRequest, 0},
		"stalled, stream": {func(s *modelserver.Server) { s.Stall(2) }, streamRequest, 2},
	}
	for name, f := range faults {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			f.begin(s)
			ctx, leave := context.WithTimeout(t.Context(), 3*time.Second)
			defer leave()
			c := start(ctx, s, f.body).wait()
			assert.Equal(t, 3*time.Second, c.took, name)
			assert.Equal(t, f.tokens, strings.Count(c.response.Body.String(), `"content"`), name)
		})
	}
}

func TestARequestIDComesBackWithTheAnswer(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/v1/models", nil)
	request.Header.Set("X-Request-Id", "7")
	response := httptest.NewRecorder()
	newServer().ServeHTTP(response, request)
	assert.Equal(t, "7", response.Header().Get("X-Request-Id"))
}

func TestHealthAndModelsAnswerWhateverTheFault(t *testing.T) {
	s := newServer()
	s.Hang()
	assert.Equal(t, http.StatusOK, get(s, "/health").Code)
	assert.JSONEq(t, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"gpu-a"}]}`,
		get(s, "/v1/models").Body.String())
	assert.Zero(t, s.Requests(), "only completions count")
}

func TestArrivalsAreCountedWhenTheyArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Hang()
		first := time.Now()
		a := start(t.Context(), s, wholeRequest)
		time.Sleep(time.Second)
		b := start(t.Context(), s, wholeRequest)
		synctest.Wait()

		assert.Equal(t, 2, s.Requests())
		assert.Equal(t, []time.Time{first, first.Add(time.Second)}, s.Arrivals())
		s.Heal()
		a.wait()
		b.wait()
	})
}

func TestALongPromptTakesLongerToTheFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := modelserver.New(modelserver.Options{
			Model: "m", FirstToken: time.Second, PerToken: 100 * time.Millisecond, PerPromptToken: 10 * time.Millisecond,
		})
		long := strings.Replace(wholeRequest, "hello", strings.Repeat("hello ", 2000), 1)
		c := start(t.Context(), s, long).wait()
		assert.Contains(t, c.response.Body.String(), `"prompt_tokens":3001`)
		assert.Equal(t, 31210*time.Millisecond, c.took)
		assert.Equal(t, 1220*time.Millisecond, start(t.Context(), s, wholeRequest).wait().took)
	})
}

func TestTheSameSeedGivesTheSameTimes(t *testing.T) {
	times := func(seed uint64) (took []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := modelserver.New(modelserver.Options{Model: "m", FirstToken: time.Second, Jitter: 0.3, Seed: seed})
			for range 5 {
				took = append(took, start(t.Context(), s, wholeRequest).wait().took)
			}
		})
		return took
	}
	assert.Equal(t, times(1), times(1))
	assert.NotEqual(t, times(1), times(2))
}

func TestWrongRequestsAreRefusedInTheAPIsOwnShape(t *testing.T) {
	cases := map[string]struct {
		body    string
		status  int
		message string
	}{
		"no JSON":       {`{`, http.StatusBadRequest, "not a chat completion request"},
		"no messages":   {`{"model":"m"}`, http.StatusBadRequest, "messages: at least one"},
		"no tokens":     {`{"messages":[{}],"max_tokens":0}`, http.StatusBadRequest, "max_tokens: 0 given"},
		"another model": {`{"model":"x","messages":[{}]}`, http.StatusNotFound, `the model \"x\" does not exist`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			response := start(t.Context(), newServer(), c.body).wait().response
			assert.Equal(t, c.status, response.Code)
			assert.Contains(t, response.Body.String(), c.message)
			assert.Contains(t, response.Body.String(), `"type":"invalid_request_error"`)
		})
	}
}

func TestAServerListensOnItsOwnPortUntilItIsClosed(t *testing.T) {
	s := newServer()
	require.NoError(t, s.Listen(t.Context()))
	address := "http://" + s.Address() + "/health"
	for want, set := range map[string]func(*http.Protocols, bool){
		"HTTP/1.1": (*http.Protocols).SetHTTP1,
		"HTTP/2.0": (*http.Protocols).SetUnencryptedHTTP2,
	} {
		var protocols http.Protocols
		set(&protocols, true)
		client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
		response, err := client.Get(address)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, want, response.Proto)
		client.CloseIdleConnections()
	}

	require.NoError(t, s.Close())
	_, err := http.Get(address)
	require.Error(t, err)
}
