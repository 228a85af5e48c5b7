// Package compare puts the breaker beside what people use today: the same requests and the
// same fault through the same Envoy, once for each set-up, measured from outside.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/envoy"
)

// Options say what to compare.
type Options struct {
	Wasm     string // path of our plugin's build for a stock Envoy
	Setups   []Setup
	Faults   []Fault
	Timeline Timeline
	Seed     uint64         // decides the requests, their times, and the endpoints' jitter
	AtOnce   int            // so many cells are played at the same time, at least 1
	Watch    func(Progress) // called from one goroutine at a time, about once a second
}

// Progress is how far a run has come.
type Progress struct {
	Round, Rounds int
	Doing         string
	At, End       time.Duration // of the round's traffic; both 0 while there is none
	Finished      *Cell         // nil = none since the last time
}

// overhead is about what a round takes besides its traffic: starts, last answers, ends.
const overhead = 15 * time.Second

// Takes is about how long a run lasts.
func (o Options) Takes() time.Duration {
	cells := len(o.Setups) * len(o.Faults)
	return time.Duration((cells+o.AtOnce-1)/o.AtOnce) * (o.Timeline.End + overhead)
}

// Run plays every set-up under every fault. AtOnce of them are one round: all its Envoys are
// started before the first request, for starting one takes the whole machine for seconds,
// and then get their traffic side by side, so that whatever disturbs the machine disturbs
// them alike.
func Run(ctx context.Context, o Options) (*Report, error) {
	var stages []*stage
	for _, fault := range o.Faults {
		for _, setup := range o.Setups {
			stages = append(stages, &stage{setup: setup, fault: fault})
		}
	}
	report := &Report{Envoy: envoy.Version, Seed: o.Seed, Timeline: o.Timeline}
	rounds := slices.Collect(slices.Chunk(stages, o.AtOnce))
	for i, stages := range rounds {
		round := &round{options: o, stages: stages, progress: Progress{Round: i + 1, Rounds: len(rounds)}}
		cells, err := round.run(ctx)
		if err != nil {
			return nil, err
		}
		report.Cells = append(report.Cells, cells...)
	}
	return report, nil
}

// round is some stages that are played at the same time.
type round struct {
	options  Options
	stages   []*stage
	progress Progress
}

func (r *round) run(ctx context.Context) (cells []Cell, err error) {
	defer func() { err = errors.Join(err, r.close()) }()
	r.tell(fmt.Sprintf("starting %d × Envoy", len(r.stages)))
	// An Envoy ends with its context, so it gets the one that outlives its start. Few start
	// together, for compiling the plugin takes a core for seconds.
	if err := r.each(ctx, 2, func(_ context.Context, s *stage) error { return s.start(ctx, r.options) }); err != nil {
		return nil, err
	}
	cells = make([]Cell, len(r.stages))
	if err := r.play(ctx, cells); err != nil {
		return nil, err
	}
	for i := range cells {
		r.progress.Finished = &cells[i]
		r.tell("")
	}
	return cells, nil
}

// play fills the cells.
func (r *round) play(ctx context.Context, cells []Cell) error {
	told, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { r.follow(told); return nil })
	group.Go(func() error {
		defer stop()
		return r.each(ctx, len(r.stages), func(ctx context.Context, s *stage) error {
			t, err := s.play(ctx, r.options)
			if err != nil {
				return err
			}
			cells[slices.Index(r.stages, s)] = Cell{
				Setup: s.setup.Name, Fault: s.fault.Name, Figures: t.measure(), Shares: t.shares(),
			}
			return nil
		})
	})
	return group.Wait()
}

// follow tells every second what the time is.
func (r *round) follow(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	began := time.Now()
	for {
		r.progress.At, r.progress.End = time.Since(began), r.options.Timeline.End
		r.tell(r.options.Timeline.phase(r.progress.At))
		select {
		case <-ctx.Done():
			r.progress.At, r.progress.End = 0, 0
			return
		case <-ticker.C:
		}
	}
}

// phase says what happens at that moment.
func (t Timeline) phase(at time.Duration) string {
	switch {
	case at < t.Fault:
		return "all is well"
	case at < t.Heal:
		return "the fault"
	case at < t.End:
		return "healed"
	default:
		return "waiting for the last answers"
	}
}

func (r *round) tell(doing string) {
	r.progress.Doing = doing
	r.options.Watch(r.progress)
	r.progress.Finished = nil
}

// each does it with every stage, so many at the same time.
func (r *round) each(ctx context.Context, atOnce int, do func(context.Context, *stage) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, stage := range r.stages {
		group.Go(func() error {
			if err := do(ctx, stage); err != nil {
				return fmt.Errorf("set-up %s, fault %s: %w", stage.setup.Name, stage.fault.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *round) close() error {
	var failed []error
	for _, stage := range r.stages {
		failed = append(failed, stage.close())
	}
	return errors.Join(failed...)
}
