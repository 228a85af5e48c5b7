package demo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/gateway"
	"endpoint-breaker/internal/modelserver"
	"endpoint-breaker/internal/wasmhost"
)

const (
	routeName   = "llm"
	clusterName = "outbound|8000||llm.dns"
	jitter      = 0.15
	closeWithin = 10 * time.Second

	endpointCount = 3
	slowIndex     = 1 // of the endpoints, the one that turns slow
)

// stage is everything that runs during the story, on one clock.
type stage struct {
	options Options
	clock   wasmhost.Clock
	servers []*modelserver.Server
	plugin  *wasmhost.Plugin
	gateway *gateway.Gateway
	watcher *watcher
	board   *Board

	base    time.Duration // the clock at the start of the load
	started time.Time     // the same moment

	mu       sync.Mutex
	accesses map[string]gateway.Access // by request id
}

// setUp starts the servers, the plugin and the gateway. Nothing is left running after
// an error.
func setUp(ctx context.Context, o Options) (s *stage, err error) {
	s = &stage{options: o, clock: wasmhost.RealClock(), accesses: map[string]gateway.Access{}}
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
	s.plugin, err = wasmhost.Load(ctx, wasmhost.Options{
		Wasm: o.Wasm, Configuration: o.Plan.Configuration(), Workers: o.Workers,
		Clock: s.clock, Seed: o.Seed, OnLog: s.board.log,
	})
	if err != nil {
		return s, err
	}
	s.gateway, err = gateway.Start(ctx, gateway.Options{
		Plugin: s.plugin, Clock: s.clock, RouteName: routeName, Cluster: clusterName,
		Hosts: s.addresses(), OnAccess: s.note,
	})
	return s, err
}

// begin sets the time to zero.
func (s *stage) begin() {
	s.base, s.started = s.clock.Monotonic(), s.clock.Wall()
	names := map[string]string{}
	for _, server := range s.servers {
		names[server.Address()] = server.Name()
	}
	s.watcher = &watcher{
		list: blocklist.NewReader(s.plugin.SharedData()), now: s.now, base: s.base, names: names,
		added: make(chan struct{}),
	}
	s.board.begin(s.now)
}

func (s *stage) setting() Setting {
	return Setting{
		Plan: s.options.Plan, Gateway: s.gateway.URL(), Workers: s.options.Workers, Rate: s.options.Rate,
		Slow: s.slow().Name(),
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

// close ends everything, the last requests first. A worker whose VM died during the
// story is an error.
func (s *stage) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var failed []error
	if s.gateway != nil {
		failed = append(failed, s.gateway.Close(ctx))
	}
	if s.plugin != nil {
		for i := range s.plugin.Workers() {
			failed = append(failed, s.plugin.Worker(i).Trapped())
		}
		failed = append(failed, s.plugin.Base().Trapped(), s.plugin.Close(ctx))
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

// now is the time since the start of the load.
func (s *stage) now() time.Duration { return s.clock.Monotonic() - s.base }

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

func (s *stage) note(access gateway.Access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accesses[access.RequestID] = access
}

func sortBySent(requests []Request) {
	slices.SortFunc(requests, func(a, b Request) int { return cmp.Compare(a.Sent, b.Sent) })
}
