package simenvoy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"endpoint-breaker/internal/envoy"
)

// lanes are connections to Envoy, one to each of its workers. Envoy keeps a connection on the
// worker that has accepted it, so that all requests of a lane are that worker's.
type lanes struct {
	envoy    *envoy.Envoy
	counters []string // by worker: how many connections it has accepted

	mu      sync.Mutex
	open    []*http.ClientConn // by worker
	old     []*http.ClientConn
	renewed chan struct{} // closed, and replaced, at a renewal
}

// renewal is how long a request waits at most for another lane when its own takes no more.
const renewal = 10 * time.Second

func openLanes(ctx context.Context, e *envoy.Envoy, workers int) (*lanes, error) {
	l := &lanes{envoy: e, renewed: make(chan struct{})}
	metrics, err := e.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	for worker := range workers {
		suffix := ".worker_" + strconv.Itoa(worker) + ".downstream_cx_total"
		names := slices.DeleteFunc(slices.Collect(maps.Keys(metrics)), func(name string) bool {
			return !strings.HasPrefix(name, "listener.127.0.0.1") || !strings.HasSuffix(name, suffix)
		})
		if len(names) != 1 {
			return nil, fmt.Errorf("finding Envoy's counter of the connections of worker %d: got %d, want 1", worker, len(names))
		}
		l.counters = append(l.counters, names[0])
	}
	if err := l.renew(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// renew opens new lanes for the requests from now on. Those in flight stay on the old ones.
func (l *lanes) renew(ctx context.Context) error {
	opened, err := l.openAll(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.old = append(l.old, l.open...)
	l.open = opened
	close(l.renewed)
	l.renewed = make(chan struct{})
	return nil
}

// openAll opens connections until each worker has accepted one. The kernel chooses the worker, so
// it takes a few more than needed.
func (l *lanes) openAll(ctx context.Context) ([]*http.ClientConn, error) {
	const tries = 50 // for each worker; that none of them meets it has a chance of 1 in 10^6 with 4
	opened := make([]*http.ClientConn, len(l.counters))
	for range tries * len(l.counters) {
		connection, worker, err := l.openOne(ctx)
		if err != nil {
			return nil, err
		}
		if opened[worker] != nil {
			_ = connection.Close() // one too many, and nothing was sent
			continue
		}
		opened[worker] = connection
		if !slices.Contains(opened, nil) {
			return opened, nil
		}
	}
	return nil, errors.New("not every worker of Envoy accepts connections")
}

// openOne opens a connection and finds out which worker has accepted it.
func (l *lanes) openOne(ctx context.Context) (connection *http.ClientConn, worker int, err error) {
	before, err := l.accepted(ctx)
	if err != nil {
		return nil, 0, err
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols, DisableCompression: true}
	connection, err = transport.NewClientConn(ctx, "http", strings.TrimPrefix(l.envoy.URL(), "http://"))
	if err != nil {
		return nil, 0, fmt.Errorf("connecting to Envoy: %w", err)
	}
	for {
		now, err := l.accepted(ctx)
		if err != nil {
			return nil, 0, errors.Join(err, connection.Close())
		}
		for worker := range now {
			if now[worker] > before[worker] {
				return connection, worker, nil
			}
		}
	}
}

// accepted is how many connections each worker has accepted.
func (l *lanes) accepted(ctx context.Context) ([]float64, error) {
	var numbers []float64
	for _, counter := range l.counters {
		number, err := l.envoy.Metric(ctx, counter)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// roundTrip sends a request to the worker. A lane takes no more when Envoy has got another
// configuration; then the request, which newRequest makes again, waits for the new one.
func (l *lanes) roundTrip(ctx context.Context, worker int, newRequest func() (*http.Request, error)) (*http.Response, error) {
	for {
		lane, renewed := l.lane(worker)
		request, err := newRequest()
		if err != nil {
			return nil, err
		}
		response, err := lane.RoundTrip(request)
		if err == nil || ctx.Err() != nil || lane.Available() > 0 {
			return response, err
		}
		select {
		case <-renewed:
		case <-time.After(renewal):
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *lanes) lane(worker int) (lane *http.ClientConn, renewed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[worker], l.renewed
}

// close closes all lanes. What an answer that nobody waits for any more would have been does not
// matter.
func (l *lanes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range append(l.old, l.open...) {
		_ = lane.Close()
	}
}
