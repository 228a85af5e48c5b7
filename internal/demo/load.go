package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"endpoint-breaker/internal/modelserver"
)

const (
	model           = "demo-model"
	requestIDHeader = "X-Request-Id"
	streamedShare   = 0.6 // of the requests
)

// load is the clients: requests that arrive at random (a Poisson process), some of
// which want their answer as a stream.
type load struct {
	client   *http.Client
	attacker *vegeta.Attacker
	stopped  chan struct{}
	done     chan struct{}

	mu      sync.Mutex
	results []*vegeta.Result // complete when done is closed
}

func startLoad(url string, plan Plan, rate float64, seed uint64) *load {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}
	l := &load{
		client:  &http.Client{Transport: transport, Timeout: plan.clientTimeout()},
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	l.attacker = vegeta.NewAttacker(vegeta.Client(l.client))
	results := l.attacker.Attack(newTargets(url, seed).next, newPoissonPacer(rate, seed, l.stopped), 0, "")
	go l.collect(results)
	return l
}

func (l *load) collect(results <-chan *vegeta.Result) {
	defer close(l.done)
	for result := range results {
		l.mu.Lock()
		l.results = append(l.results, result)
		l.mu.Unlock()
	}
}

// soFar are the requests that are over.
func (l *load) soFar() []*vegeta.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.results)
}

// stop sends nothing new, and returns the results when all requests are over. It is called
// once.
func (l *load) stop() []*vegeta.Result {
	close(l.stopped)
	l.attacker.Stop()
	<-l.done
	l.client.CloseIdleConnections()
	return l.soFar()
}

// poissonPacer makes arrivals that know nothing of each other. Only vegeta's own
// goroutine calls it.
type poissonPacer struct {
	rate    float64 // per second
	random  *rand.Rand
	stopped <-chan struct{}
	next    time.Duration
	hits    uint64 // so many arrivals are drawn; next is when the last of them is due
}

func newPoissonPacer(rate float64, seed uint64, stopped <-chan struct{}) *poissonPacer {
	return &poissonPacer{rate: rate, random: rand.New(rand.NewPCG(seed, 0x70616365)), stopped: stopped}
}

// Pace implements vegeta.Pacer. It waits itself: vegeta would sleep for as long as it is
// told, and hear of no stop before it had sent one more request.
func (p *poissonPacer) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	timer := time.NewTimer(p.due(hits) - elapsed)
	defer timer.Stop()
	select {
	case <-p.stopped:
		return 0, true
	case <-timer.C:
		return 0, false
	}
}

// due is when the request after so many hits arrives, since the start.
func (p *poissonPacer) due(hits uint64) time.Duration {
	for ; p.hits <= hits; p.hits++ {
		p.next += time.Duration(p.random.ExpFloat64() / p.rate * float64(time.Second))
	}
	return p.next
}

// Rate implements vegeta.Pacer.
func (p *poissonPacer) Rate(time.Duration) float64 { return p.rate }

// targets makes the requests. vegeta calls it from many goroutines.
type targets struct {
	url    string
	mu     sync.Mutex
	random *rand.Rand
	count  int
}

func newTargets(url string, seed uint64) *targets {
	return &targets{url: url, random: rand.New(rand.NewPCG(seed, 0x74617267))}
}

func (t *targets) next(target *vegeta.Target) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	body, err := json.Marshal(map[string]any{
		"model":      model,
		"stream":     t.random.Float64() < streamedShare,
		"max_tokens": 8 + t.random.IntN(33),
		"messages":   []any{map[string]string{"role": "user", "content": "What should a gateway do when one of its model servers gets slow?"}},
	})
	if err != nil {
		return err
	}
	*target = vegeta.Target{
		Method: http.MethodPost,
		URL:    t.url + "/v1/chat/completions",
		Body:   body,
		Header: http.Header{
			"Content-Type":  {"application/json"},
			requestIDHeader: {fmt.Sprintf("demo-%d", t.count)},
		},
	}
	return nil
}

// failureOf tells what is wrong with an answer; "" = nothing.
func failureOf(result *vegeta.Result) string {
	if result.Error != "" {
		return result.Error
	}
	complete := []byte(`"finish_reason":"stop"`)
	if result.Headers.Get("Content-Type") == "text/event-stream" {
		complete = []byte("data: [DONE]\n\n")
	}
	if !bytes.Contains(result.Body, complete) {
		return fmt.Sprintf("an answer of %s that is not complete", result.Headers.Get(modelserver.ServedByHeader))
	}
	return ""
}
