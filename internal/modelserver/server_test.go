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
		w := &timedWriter{ResponseRecorder: httptest.NewRecorder(), began: time.Now()}
		newServer().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(streamRequest)))

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

type timedWriter struct {
	*httptest.ResponseRecorder
	began   time.Time
	flushed []time.Duration
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

func TestWhoeverWaitsWhenTheServerHealsIsServedFromThenOn(t *testing.T) {
	faults := map[string]func(*modelserver.Server){
		"slow":              func(s *modelserver.Server) { s.SlowDown(time.Hour) },
		"hanging":           func(s *modelserver.Server) { s.Hang() },
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
	for _, body := range []string{wholeRequest, streamRequest} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.Hang()
			ctx, leave := context.WithTimeout(t.Context(), 3*time.Second)
			defer leave()
			c := start(ctx, s, body).wait()
			assert.Equal(t, 3*time.Second, c.took)
			assert.Empty(t, c.response.Body.String())
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
	response, err := http.Get("http://" + s.Address() + "/health")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)

	require.NoError(t, s.Close())
	_, err = http.Get("http://" + s.Address() + "/health")
	require.Error(t, err)
}
