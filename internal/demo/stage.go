package demo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"endpoint-breaker/internal/modelserver"
)

const (
	routeName   = "llm"
	clusterName = "outbound|8000||llm.dns"
	jitter      = 0.15
	closeWithin = 10 * time.Second

	endpointCount = 3
	slowIndex     = 1 // of the endpoints, the one that turns slow
)

// stage is everything that runs during the story.
type stage struct {
	options Options
	servers []*modelserver.Server
	gateway running
	load    *load
	board   *Board
	book    *blockBook

	started time.Time  // the story's zero: the load begins
	trouble chan error // the first that the gateway has told of

	mu        sync.Mutex
	decisions map[string]decision // by request id
}

// setUp starts the servers and the gateway with the plugin. Nothing is left running after
// an error.
func setUp(ctx context.Context, o Options) (s *stage, err error) {
	s = &stage{options: o, book: newBlockBook(), trouble: make(chan error, 1), decisions: map[string]decision{}}
	s.board = &Board{stage: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for i, name := range [endpointCount]string{"gpu-a", "gpu-b", "gpu-c"} {
		server := modelserver.New(modelserver.Options{
			Name: name, Model: model, FirstToken: o.Plan.FirstToken, PerToken: o.Plan.PerToken,
			Jitter: jitter, Seed: o.Seed + uint64(i),
		})
		if err := server.Listen(ctx); err != nil {
			return s, err
		}
		s.servers = append(s.servers, server)
	}
	gateway, err := o.Gateway.start(ctx, gatewaySetup{options: o, hosts: s.addresses(), observer: s})
	if err != nil {
		return s, err
	}
	s.gateway = gateway
	return s, nil
}

// begin sets the time to zero and has the clients call.
func (s *stage) begin() {
	s.started = time.Now()
	s.board.begin(s.now)
	s.load = startLoad(s.gateway.url(), s.options.Plan, s.options.Rate, s.options.Seed)
}

func (s *stage) setting() Setting {
	return Setting{
		Plan: s.options.Plan, Gateway: s.options.Gateway, URL: s.gateway.url(), Workers: s.options.Workers,
		Rate: s.options.Rate, Slow: s.slow().Name(),
	}
}

// arrivals are those of one server, on the story's time.
func (s *stage) arrivals(server *modelserver.Server) []time.Duration {
	var since []time.Duration
	for _, at := range server.Arrivals() {
		since = append(since, at.Sub(s.started))
	}
	return since
}

// blocks are those so far, on the story's time.
func (s *stage) blocks() []Block {
	var blocks []Block
	for _, seen := range s.book.all() {
		blocks = append(blocks, Block{
			Endpoint: s.nameOf(seen.address),
			Since:    seen.since.Sub(s.started), Until: seen.until.Sub(s.started), Inexact: seen.inexact,
			Seen: seen.seen.Sub(s.started), Strikes: seen.strikes, Reason: seen.reason,
		})
	}
	return blocks
}

// close ends everything, the last requests first.
func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var failed []error
	if s.gateway != nil {
		failed = append(failed, s.gateway.close(ctx))
	}
	for _, server := range s.servers {
		failed = append(failed, server.Close())
	}
	return errors.Join(failed...)
}

func (s *stage) slow() *modelserver.Server { return s.servers[slowIndex] }

func (s *stage) addresses() []string {
	addresses := make([]string, len(s.servers))
	for i, server := range s.servers {
		addresses[i] = server.Address()
	}
	return addresses
}

// nameOf is the address itself when it is no endpoint's.
func (s *stage) nameOf(address string) string {
	for _, server := range s.servers {
		if server.Address() == address {
			return server.Name()
		}
	}
	return address
}

// now is the time since the start of the load.
func (s *stage) now() time.Duration { return time.Since(s.started) }

// until waits for a moment of the story.
func (s *stage) until(ctx context.Context, moment time.Duration) error {
	timer := time.NewTimer(moment - s.now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// blocked implements observer.
func (s *stage) blocked(block seenBlock) { s.book.note(block) }

// decided implements observer.
func (s *stage) decided(requestID string, d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions[requestID] = d
}

// logged implements observer.
func (s *stage) logged(text string) { s.board.add(EventLog, text) }

// broken implements observer.
func (s *stage) broken(err error) {
	select {
	case s.trouble <- err:
	default:
	}
}

func sortBySent(requests []Request) {
	slices.SortFunc(requests, func(a, b Request) int { return cmp.Compare(a.Sent, b.Sent) })
}
