package simenvoy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/backend"
	"endpoint-breaker/internal/sim"
)

// request is a request and what its client saw, in moments of the run. It belongs to its own
// goroutine until the run is over.
type request struct {
	sim.Arrival
	number           int
	complete         atomic.Int64 // a moment; the connection may still be at it when the answer is there
	firstByte, ended time.Duration
	outcome          sim.Outcome
	status           int
}

func newRequest(a sim.Arrival, number int) *request {
	q := &request{Arrival: a, number: number, firstByte: sim.Never, ended: sim.Never}
	q.complete.Store(int64(sim.Never))
	return q
}

// errLeft is why a request ends whose client leaves.
var errLeft = errors.New("the client leaves")

// inTurn is how long a request waits at most for the one before it to be on its way.
const inTurn = 5 * time.Millisecond

// send sends all requests when their moments come, and waits for what becomes of them. Those of
// one moment go in their order: Envoy deals them to the endpoints in turn.
func (p *Player) send(ctx context.Context) error {
	var inFlight atomic.Int64
	clients, ctx := errgroup.WithContext(ctx)
	for _, q := range p.requests {
		if p.clock.wait(ctx, q.At) != nil {
			break
		}
		if inFlight.Add(1) > maxInFlight {
			clients.Go(func() error { return tooManyInFlight(q.At) })
			break
		}
		sent := make(chan struct{})
		trace := &httptrace.ClientTrace{WroteHeaders: sync.OnceFunc(func() { close(sent) })} // a second time on a new lane
		clients.Go(func() error {
			defer inFlight.Add(-1)
			return p.exchange(httptrace.WithClientTrace(ctx, trace), q)
		})
		select {
		case <-sent:
		case <-time.After(inTurn):
		case <-ctx.Done():
		}
	}
	return clients.Wait()
}

// exchange sends one request and reads its answer.
func (p *Player) exchange(ctx context.Context, q *request) error {
	if after := q.Traffic.LeaveAfter; after != nil {
		var cancel func()
		ctx, cancel = context.WithDeadlineCause(ctx, p.clock.at(q.At+time.Duration(*after)), errLeft)
		defer cancel()
	}
	response, err := p.lanes.roundTrip(ctx, q.Worker, func() (*http.Request, error) { return p.newRequest(ctx, q) })
	if err != nil {
		return p.broke(ctx, q, err)
	}
	defer response.Body.Close()
	q.status = response.StatusCode
	if response.Header.Get(backend.ServedByHeader) == "" {
		return p.readReply(ctx, q, response)
	}
	return p.readAnswer(ctx, q, response)
}

func (p *Player) newRequest(ctx context.Context, q *request) (*http.Request, error) {
	complete := func() { q.complete.Store(int64(p.clock.now())) }
	var body io.Reader
	if q.Traffic.Method == http.MethodPost {
		body = &upload{
			second:   func() error { return p.clock.wait(ctx, q.At+time.Duration(q.Traffic.Upload)) },
			complete: complete,
		}
	}
	made, err := http.NewRequestWithContext(ctx, q.Traffic.Method, p.envoy.URL()+"/v1/chat/completions", body)
	if err != nil {
		return nil, err
	}
	made.Host = p.routeOf(q).Domain
	made.Header.Set("Content-Type", "application/json")
	made.Header.Set(routeHeader, q.Traffic.Route)
	made.Header.Set(numberHeader, strconv.Itoa(q.number))
	made.Header.Set(responseTypeHeader, q.Traffic.ResponseType)
	if body == nil {
		complete()
	}
	return made, nil
}

func (p *Player) routeOf(q *request) sim.Route {
	for _, route := range p.scenario.Routes {
		if route.Name == q.Traffic.Route {
			return route
		}
	}
	return sim.Route{} // a scenario without it cannot be read
}

// upload is a request's body, of two parts: the first goes at once.
type upload struct {
	second   func() error // waits until the second part may go
	complete func()
	sent     int
}

// Read returns one part at a time.
func (u *upload) Read(into []byte) (int, error) {
	if u.sent == 1 {
		if err := u.second(); err != nil {
			return 0, err
		}
	}
	if u.sent == 2 {
		u.complete()
		return 0, io.EOF
	}
	u.sent++
	return copy(into, `{"prompt":"…"}`), nil
}

// readAnswer reads what an endpoint has answered.
func (p *Player) readAnswer(ctx context.Context, q *request, response *http.Response) error {
	buffer := make([]byte, 1024)
	for {
		n, err := response.Body.Read(buffer)
		if n > 0 && q.firstByte == sim.Never {
			q.firstByte = p.clock.now()
		}
		switch {
		case errors.Is(err, io.EOF):
			return p.end(q, sim.Answered)
		case err != nil && ctx.Err() == nil && p.routeOf(q).Timeout > 0:
			return p.end(q, sim.TimedOut) // in the middle of the answer
		case err != nil:
			return p.broke(ctx, q, err)
		}
	}
}

// readReply reads an answer that no endpoint has given.
func (p *Player) readReply(ctx context.Context, q *request, response *http.Response) error {
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return p.broke(ctx, q, err)
	case string(text) == "upstream request timeout":
		return p.end(q, sim.TimedOut)
	case string(text) == "no healthy upstream":
		return p.end(q, sim.NoHost)
	default:
		return p.end(q, sim.Refused)
	}
}

// broke ends a request without an answer, or with half of one. Nothing but a client that leaves
// and the end of the run may be the cause.
func (p *Player) broke(ctx context.Context, q *request, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return fmt.Errorf("request %d, of %s at %s: %w", q.number, q.Traffic.Name, q.At, err)
	case errors.Is(cause, errLeft):
		return p.end(q, sim.Left)
	default:
		return nil
	}
}

func (p *Player) end(q *request, outcome sim.Outcome) error {
	q.outcome = outcome
	q.ended = p.clock.now()
	return nil
}
