package compare

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/modelserver"
)

const (
	clusterName = "outbound|8000||llm.dns"
	workers     = 2
	jitter      = 0.08 // 95 % of the answers within ×0.85 … ×1.17
)

func endpointNames() []string { return []string{"gpu-a", "gpu-b", "gpu-c"} }

// stage is one set-up under one fault: an Envoy and three endpoints of its own.
type stage struct {
	setup   Setup
	fault   Fault
	servers []*modelserver.Server
	envoy   *envoy.Envoy
}

// start has the endpoints and Envoy ready. What it has started is ended by close, also after
// an error.
func (s *stage) start(ctx context.Context, o Options) error {
	for i, name := range endpointNames() {
		server := modelserver.New(modelserver.Options{
			Name: name, Model: model, FirstToken: firstToken, PerToken: perToken,
			PerPromptToken: perPromptToken, Jitter: jitter, Seed: o.Seed + uint64(i),
		})
		if err := server.Listen(ctx); err != nil {
			return err
		}
		s.servers = append(s.servers, server)
	}
	gateway, err := s.setup.gateway(o, s.fault, s.addresses())
	if err != nil {
		return err
	}
	s.envoy, err = envoy.Start(ctx, gateway)
	return err
}

// gateway is the set-up as Envoy takes it under the fault.
func (s Setup) gateway(o Options, fault Fault, addresses []string) (envoy.Setup, error) {
	route := envoy.Route("llm", "/", clusterName)
	config := gatewayConfig{route: route.GetRoute(), cluster: envoy.StaticCluster(clusterName, addresses...)}
	s.configure(&config, fault)
	var filters []*hcmv3.HttpFilter
	if config.plugin != "" {
		var err error
		filters, err = envoy.Breaker{Wasm: o.Wasm, Configuration: config.plugin}.Filters()
		if err != nil {
			return envoy.Setup{}, err
		}
	}
	listener, err := envoy.NewListener(envoy.Routes(envoy.AnyHost(route)), filters...)
	if err != nil {
		return envoy.Setup{}, err
	}
	return envoy.Setup{
		Workers: workers, Listener: listener,
		Clusters: []*clusterv3.Cluster{config.cluster},
	}, nil
}

// play has the clients call, and the fault come and go.
func (s *stage) play(ctx context.Context, o Options) (*traffic, error) {
	requests := plan(s.fault, o.Timeline, o.Seed)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.disturb(ctx, o.Timeline) })
	began, answers := attack(ctx, s.envoy.URL(), requests, s.fault.OneByOne, o.Timeline.End)
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &traffic{
		landings: s.landings(began), answers: answers, timeline: o.Timeline,
		faulty: s.fault.Faulty, windows: s.fault.windows(),
	}, nil
}

// disturb is the fault from its beginning to the healing.
func (s *stage) disturb(ctx context.Context, t Timeline) error {
	began := time.Now()
	defer s.heal() // whatever happened, nobody need wait any longer
	for at := t.Fault; at < t.Heal; at += injectEvery {
		if err := waitUntil(ctx, began.Add(at)); err != nil {
			return err
		}
		if s.fault.inject == nil {
			continue
		}
		progress := float64(at-t.Fault) / float64(t.Heal-t.Fault)
		for _, i := range s.fault.Faulty {
			s.fault.inject(s.servers[i], progress)
		}
	}
	return waitUntil(ctx, began.Add(t.Heal))
}

func (s *stage) heal() {
	for _, server := range s.servers {
		server.Heal()
	}
}

func waitUntil(ctx context.Context, moment time.Time) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// landings are what the endpoints themselves saw arrive.
func (s *stage) landings(began time.Time) []landing {
	var all []landing
	for endpoint, server := range s.servers {
		for _, at := range server.Arrivals() {
			all = append(all, landing{at.Sub(began), endpoint})
		}
	}
	slices.SortFunc(all, func(a, b landing) int { return cmp.Compare(a.at, b.at) })
	return all
}

func (s *stage) addresses() []string {
	addresses := make([]string, len(s.servers))
	for i, server := range s.servers {
		addresses[i] = server.Address()
	}
	return addresses
}

// close ends everything. An Envoy that had ended before by itself is an error.
func (s *stage) close() error {
	var failed []error
	if s.envoy != nil {
		failed = append(failed, s.envoy.Stop())
	}
	for _, server := range s.servers {
		failed = append(failed, server.Close())
	}
	return errors.Join(failed...)
}
