package compare

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"endpoint-breaker/internal/modelserver"
)

// attack sends the requests and returns when the last one is over, the answers in the order
// in which they were sent. began is when their times count from.
func attack(ctx context.Context, url string, requests []request, oneByOne bool, end time.Duration) (began time.Time, answers []answer) {
	client := &http.Client{
		// Of many clients each has a connection of its own, so that they spread over the
		// workers of Envoy. The one client keeps its connection, and so its worker.
		Transport: &http.Transport{DisableKeepAlives: !oneByOne, DisableCompression: true},
		Timeout:   clientTimeout,
	}
	defer client.CloseIdleConnections()
	options := []func(*vegeta.Attacker){vegeta.Client(client)}
	if oneByOne {
		options = append(options, vegeta.Workers(1), vegeta.MaxWorkers(1))
	}
	targets := &targets{url: url, requests: requests, longPrompt: longPrompt()}
	pacer := &pacer{done: ctx.Done(), requests: requests, oneByOne: oneByOne, end: end}
	attacker := vegeta.NewAttacker(options...)
	began = time.Now()
	for result := range attacker.Attack(targets.next, pacer, 0, "") {
		answers = append(answers, answerOf(result, began, requests))
	}
	slices.SortFunc(answers, func(a, b answer) int { return int(a.sent - b.sent) })
	return began, answers
}

// pacer implements vegeta.Pacer.
type pacer struct {
	done     <-chan struct{}
	requests []request
	oneByOne bool
	end      time.Duration
}

// Pace waits itself: vegeta would sleep for as long as it is told, and hear of no stop
// before it had sent one more request.
func (p *pacer) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if hits >= uint64(len(p.requests)) || elapsed >= p.end {
		return 0, true
	}
	if p.oneByOne {
		return 0, false // vegeta's only worker takes it when it is free
	}
	timer := time.NewTimer(p.requests[hits].at - elapsed)
	defer timer.Stop()
	select {
	case <-p.done:
		return 0, true
	case <-timer.C:
		return 0, false
	}
}

// Rate implements vegeta.Pacer.
func (p *pacer) Rate(time.Duration) float64 { return rate }

// requestIDHeader carries the place of the request in the plan; the servers send it back.
const requestIDHeader = "X-Request-Id"

// targets makes the requests. vegeta calls it from many goroutines: neighbours may change
// places.
type targets struct {
	url        string
	requests   []request
	longPrompt string
	taken      atomic.Int64
}

func (t *targets) next(target *vegeta.Target) error {
	i := int(t.taken.Add(1)) - 1
	body, err := t.requests[i].body(t.longPrompt)
	if err != nil {
		return err
	}
	*target = vegeta.Target{
		Method: http.MethodPost, URL: t.url + "/v1/chat/completions", Body: body,
		Header: http.Header{"Content-Type": {"application/json"}, requestIDHeader: {strconv.Itoa(i)}},
	}
	return nil
}

func answerOf(result *vegeta.Result, began time.Time, requests []request) answer {
	i, err := strconv.Atoi(result.Headers.Get(requestIDHeader))
	return answer{
		sent:     result.Timestamp.Sub(began),
		latency:  result.Latency,
		endpoint: slices.Index(endpointNames(), result.Headers.Get(modelserver.ServedByHeader)),
		code:     int(result.Code),
		failed:   !whole(result),
		timedOut: strings.Contains(result.Error, "Client.Timeout"),
		long:     err == nil && requests[i].long,
	}
}

// whole tells whether the answer came to its end.
func whole(result *vegeta.Result) bool {
	if result.Error != "" {
		return false
	}
	if result.Headers.Get("Content-Type") == "text/event-stream" {
		return bytes.HasSuffix(result.Body, []byte("data: [DONE]\n\n"))
	}
	return bytes.Contains(result.Body, []byte(`"finish_reason":"stop"`))
}
