package demo

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"endpoint-breaker/internal/modelserver"
)

func TestArrivalsHaveTheRateAskedForAndAreTheSameForASeed(t *testing.T) {
	arrivals := func(seed uint64) (at []time.Duration) {
		pacer := newPoissonPacer(40, seed, nil)
		elapsed := time.Duration(0)
		for hits := range uint64(4000) {
			elapsed = max(pacer.due(hits), elapsed)
			at = append(at, elapsed)
		}
		return at
	}
	first := arrivals(1)
	assert.InDelta(t, 40, 4000/first[3999].Seconds(), 2)
	assert.Equal(t, first, arrivals(1))
	assert.NotEqual(t, first, arrivals(2))
}

func TestALateArrivalIsSentAtOnce(t *testing.T) {
	pacer := newPoissonPacer(40, 1, nil)
	wait, stop := pacer.Pace(time.Hour, 0)
	assert.Zero(t, wait)
	assert.False(t, stop)
}

func TestVegetaHearsOfAnArrivalWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pacer := newPoissonPacer(0.01, 1, nil)
		began := time.Now()
		wait, stop := pacer.Pace(0, 0)
		assert.False(t, stop)
		assert.Zero(t, wait, "vegeta sleeps and cannot be woken; the pacer waits itself")
		assert.Equal(t, pacer.due(0), time.Since(began))
		assert.Greater(t, time.Since(began), time.Second)
	})
}

func TestStoppingDoesNotWaitForTheNextArrival(t *testing.T) {
	plan, err := NewPlan(10)
	require.NoError(t, err)
	load := startLoad("http://gateway.invalid", plan, 0.001, 1)
	stopped := make(chan []*vegeta.Result)
	go func() { stopped <- load.stop() }()
	select {
	case results := <-stopped:
		assert.Empty(t, results)
	case <-time.After(5 * time.Second):
		t.Fatal("it waits")
	}
}

func TestTargetsAreStreamsAndWholeAnswersWithIDsOfTheirOwn(t *testing.T) {
	targets := newTargets("http://gateway", 1)
	ids, streams := map[string]bool{}, 0
	for range 1000 {
		var target vegeta.Target
		require.NoError(t, targets.next(&target))
		assert.Equal(t, "http://gateway/v1/chat/completions", target.URL)
		ids[target.Header.Get("X-Request-Id")] = true
		var body struct{ Stream bool }
		require.NoError(t, json.Unmarshal(target.Body, &body))
		if body.Stream {
			streams++
		}
	}
	assert.Len(t, ids, 1000)
	assert.InDelta(t, 600, streams, 50)
}

func TestOnlyAWholeAnswerIsNoFailure(t *testing.T) {
	headers := func(contentType string) http.Header {
		return http.Header{"Content-Type": {contentType}, modelserver.ServedByHeader: {"gpu-a"}}
	}
	for name, c := range map[string]struct {
		result vegeta.Result
		want   string
	}{
		"whole":         {vegeta.Result{Headers: headers("application/json"), Body: []byte(`{"finish_reason":"stop"}`)}, ""},
		"stream":        {vegeta.Result{Headers: headers("text/event-stream"), Body: []byte("data: {}\n\ndata: [DONE]\n\n")}, ""},
		"half a stream": {vegeta.Result{Headers: headers("text/event-stream"), Body: []byte("data: {}\n\n")}, "an answer of gpu-a that is not complete"},
		"error":         {vegeta.Result{Error: "503 Service Unavailable"}, "503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, failureOf(&c.result)) })
	}
}
