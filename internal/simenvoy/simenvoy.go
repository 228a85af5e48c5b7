// Package simenvoy plays the scenario files of package sim on a real Envoy: the same clients at
// the same moments, real endpoints that answer as the file says, and the plugin's build for a
// stock Envoy in between. Time runs faster than in the file by a scale, and what comes out is in
// the file's time again, so that the file's own expectations judge it.
package simenvoy

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
)

// Options say how to play a scenario.
type Options struct {
	Wasm    string // path of the plugin's build for a stock Envoy
	Workers int    // worker threads, at least 1
	Seed    uint64
	// Scale is how many seconds of the file pass in one, 1 to MaxScale.
	Scale int
	// Log takes the event log, one line an event, when the run is over; nil drops it.
	Log io.Writer
	// Progress is told the time of the run ten times a second; nil = nobody asks.
	Progress func(now time.Duration)
}

// MaxScale is where check_interval, which cannot be below 100ms, means 10s of the file.
const MaxScale = 100

const (
	// progressEvery is how often Options.Progress is told.
	progressEvery = 100 * time.Millisecond
	// grace is for what was on its way to an endpoint when the run was over.
	grace = 200 * time.Millisecond
)

// Player is one run. It is used up by Run or Stop.
type Player struct {
	scenario  *sim.Scenario
	options   Options
	endpoints *endpoints
	envoy     *envoy.Envoy
	lanes     *lanes
	log       *logBook
	clock     clock

	requests []*request
	changes  []change
	metrics  map[string]float64
}

// Play plays a scenario to its end. Whether the plugin did well is for Result.Verdicts to say. It
// fails as Start and Run do.
func Play(ctx context.Context, s *sim.Scenario, o Options) (*sim.Result, error) {
	p, err := Start(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx)
}

// Start brings everything up to the moment before the first request. To start an Envoy keeps a
// machine busy for seconds: who plays several scenarios at a time starts all of them first. It
// fails with an *UnplayableError if the scenario makes no sense on a real Envoy at this scale, and
// when it cannot be played, such as for a configuration that the plugin refuses. The caller has
// to Run or Stop what it returns; both end when the context does.
func Start(ctx context.Context, s *sim.Scenario, o Options) (*Player, error) {
	arrivals := s.Arrivals(o.Workers, o.Seed)
	if err := playable(s, arrivals, o); err != nil {
		return nil, err
	}
	p := &Player{scenario: s, options: o, log: &logBook{}}
	for _, a := range arrivals {
		p.requests = append(p.requests, newRequest(a, len(p.requests)+1))
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Run plays the scenario, stops everything and says what came of it. An error means that it could
// not be played, on a machine that is too busy to tell for instance, or is the context's.
func (p *Player) Run(ctx context.Context) (*sim.Result, error) {
	err := p.run(ctx)
	if err := errors.Join(err, p.Stop()); err != nil {
		return nil, err
	}
	return p.result()
}

func (p *Player) start(ctx context.Context) (err error) {
	if p.endpoints, err = startEndpoints(ctx, p.scenario, p.options.Seed); err != nil {
		return err
	}
	setup, err := p.setup()
	if err != nil {
		return err
	}
	p.envoy, err = envoy.Start(ctx, setup)
	var refused *envoy.RefusedError
	if errors.As(err, &refused) {
		return errors.New(whyRefused(refused))
	}
	if err != nil {
		return err
	}
	p.lanes, err = openLanes(ctx, p.envoy, p.options.Workers)
	return err
}

// errOver ends a run whose time has passed.
var errOver = errors.New("the run is over")

// run lets the time of the scenario pass. What is in flight at the end is cut off.
func (p *Player) run(ctx context.Context) error {
	const soon = 50 * time.Millisecond
	p.clock = clock{zero: time.Now().Add(soon), scale: p.options.Scale}
	p.endpoints.serve(p.clock)
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return p.send(ctx) })
	all.Go(func() error { return p.change(ctx) })
	all.Go(func() error { return p.watch(ctx) })
	if err := all.Wait(); !errors.Is(err, errOver) {
		return err
	}
	return nil
}

// watch lets the time pass, and looks at the plugin's metrics at the end.
func (p *Player) watch(ctx context.Context) error {
	end := time.Duration(p.scenario.Duration)
	for now := p.clock.now(); now < end; now = p.clock.now() {
		if p.options.Progress != nil {
			p.options.Progress(max(now, 0))
		}
		if err := p.clock.wait(ctx, min(now+p.clock.virtual(progressEvery), end)); err != nil {
			return err
		}
	}
	metrics, err := p.envoy.Metrics(ctx)
	if err != nil {
		return err
	}
	p.metrics = metrics
	if err := p.clock.wait(ctx, p.clock.now()+p.clock.virtual(grace)); err != nil {
		return err
	}
	return errOver
}

// Stop ends everything, however far it has come.
func (p *Player) Stop() error {
	var errs []error
	if p.lanes != nil {
		p.lanes.close()
	}
	if p.envoy != nil {
		errs = append(errs, p.envoy.Stop())
	}
	if p.endpoints != nil {
		errs = append(errs, p.endpoints.stop())
	}
	return errors.Join(errs...)
}
