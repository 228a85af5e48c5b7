package tuning

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Report is all that a run has found out.
type Report struct {
	Returns   []Return
	Togethers []Together
	Evidences []Evidence
	Hiccups   []Hiccup
}

// Options say what to play.
type Options struct {
	Wasm []byte // the plugin as shipped, for Higress
	// Quick plays each case once, where the documents have the median and the worst of several.
	Quick bool
	// Progress is told what is done, out of so many; never by two goroutines at once.
	Progress func(done, all int, what string)
}

// repeats is how often each case is played, with other requests each time.
type repeats struct {
	stays, heals, together, evidence, burst, twoHiccups int
}

func (o Options) repeats() repeats {
	if o.Quick {
		return repeats{1, 1, 1, 1, 1, 1}
	}
	return repeats{stays: 3, heals: 9, together: 5, evidence: 7, burst: 5, twoHiccups: 20}
}

// job fills a row or a few.
type job struct {
	what string
	do   func(context.Context) error
}

// Run plays everything, on as many processors as there are: about half a minute on two of them.
func Run(ctx context.Context, o Options) (*Report, error) {
	report, jobs := o.plan()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mutex sync.Mutex
	done := 0
	for _, job := range jobs {
		group.Go(func() error {
			if err := job.do(ctx); err != nil {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			done++
			o.Progress(done, len(jobs), job.what)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return report, nil
}

// plan has the jobs that take longest first: starting many workers does.
func (o Options) plan() (*Report, []job) {
	n := o.repeats()
	r := &Report{
		Returns: make([]Return, len(returns())), Togethers: make([]Together, len(together())),
		Evidences: make([]Evidence, len(workerCounts())*len(rates())), Hiccups: make([]Hiccup, len(workerCounts())),
	}
	var jobs []job
	for i, workers := range slices.Backward(workerCounts()) {
		jobs = append(jobs, job{fmt.Sprintf("hiccups, workers: %d", workers), func(ctx context.Context) (err error) {
			r.Hiccups[i], err = measureHiccup(ctx, o.Wasm, workers, n.burst, n.twoHiccups)
			return err
		}})
		jobs = append(jobs, job{fmt.Sprintf("evidence, workers: %d", workers), func(ctx context.Context) error {
			rows, err := measureEvidence(ctx, o.Wasm, workers, n.evidence)
			copy(r.Evidences[i*len(rates()):], rows)
			return err
		}})
	}
	for i, c := range returns() {
		jobs = append(jobs, job{"return, " + c.String(), func(ctx context.Context) (err error) {
			r.Returns[i], err = measureReturn(ctx, o.Wasm, c, n.stays, n.heals)
			return err
		}})
	}
	for i, c := range together() {
		jobs = append(jobs, job{"together, " + c.String(), func(ctx context.Context) (err error) {
			r.Togethers[i], err = measureTogether(ctx, o.Wasm, c, n.together)
			return err
		}})
	}
	return r, jobs
}
