package wasmhost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// Plugin is a plugin that runs: a base VM and its workers over one store of
// shared data and one set of metrics.
type Plugin struct {
	options  Options
	logLevel LogLevel
	module   *Module
	shared   *SharedData
	metrics  *metrics
	base     *Worker
	workers  []*Worker
}

// Load compiles the module, unless Options.Module brings it, and starts the base
// VM, then the workers, each with the configuration. It fails with
// *UnknownImportsError when the module imports what the host lacks, with
// *ConfigurationRefusedError when the plugin refuses its configuration, and with
// *TrapError when a VM dies on the way. Nothing is left running after an error.
func Load(ctx context.Context, o Options) (*Plugin, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Plugin{
		options: o, logLevel: LogInfo, module: o.Module,
		shared: NewSharedData(), metrics: newMetrics(),
	}
	if o.LogLevel != nil {
		p.logLevel = *o.LogLevel
	}
	if p.module == nil {
		compiled, err := Compile(ctx, o.Wasm, o.CacheDir)
		if err != nil {
			return nil, err
		}
		p.module = compiled
	}
	if err := p.startAll(ctx); err != nil {
		_ = p.free(ctx) // the first error is the one to tell
		return nil, err
	}
	return p, nil
}

func (p *Plugin) startAll(ctx context.Context) error {
	for index := BaseVM; index < p.options.Workers; index++ {
		w := p.newWorker(ctx, index)
		if err := p.module.instantiate(w, &p.options); err != nil {
			return err
		}
		if index == BaseVM {
			p.base = w
		} else {
			p.workers = append(p.workers, w)
		}
		if err := w.start(p.options.Configuration); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) newWorker(ctx context.Context, index int) *Worker {
	w := &Worker{
		plugin: p, index: index,
		exports: map[string]api.Function{},
		streams: map[uint32]*Stream{},
		counts:  make([]uint64, len(p.module.functions)),
		started: map[string]uint64{},
		missed:  map[string]bool{},
		redis:   map[string]RedisClient{},
	}
	w.ctx = context.WithValue(context.WithoutCancel(ctx), workerKey{}, w)
	w.stdout = &lineWriter{emit: func(line string) { w.log(LogInfo, FromStdout, line) }}
	w.stderr = &lineWriter{emit: func(line string) { w.log(LogError, FromStderr, line) }}
	return w
}

// Reconfigure gives every VM a new plugin context with the configuration,
// beside the old one, which keeps its ticks and its streams until they are
// done. When one VM refuses, with *ConfigurationRefusedError, or dies over it,
// with *TrapError, the old context goes on serving everywhere. Workers that are
// dead already are passed over. No worker may be in a call meanwhile.
func (p *Plugin) Reconfigure(_ context.Context, configuration string) error {
	type change struct {
		worker *Worker
		next   *root
	}
	var changes []change
	for _, w := range p.all() {
		if w.dead() {
			continue
		}
		next, err := w.addRoot(configuration)
		if err != nil {
			for _, done := range changes {
				done.worker.finishRoot(done.next)
			}
			return err
		}
		changes = append(changes, change{w, next})
	}
	for _, done := range changes {
		done.worker.serveWith(done.next)
	}
	return nil
}

// all is the base VM and then the workers in order.
func (p *Plugin) all() []*Worker {
	if p.base == nil {
		return nil
	}
	return append([]*Worker{p.base}, p.workers...)
}

// Base is the VM of the main thread. It gets ticks, and no streams.
func (p *Plugin) Base() *Worker { return p.base }

// Worker returns worker i, from 0 to Workers()-1. It panics on another index.
func (p *Plugin) Worker(i int) *Worker { return p.workers[i] }

// Workers is the number of workers beside the base VM.
func (p *Plugin) Workers() int { return len(p.workers) }

// SharedData is the store that all VMs share.
func (p *Plugin) SharedData() *SharedData { return p.shared }

// Metric gives the value of the counter or gauge of that name; 0 when it was
// never defined.
func (p *Plugin) Metric(name string) int64 { return p.metrics.value(name) }

// Metrics gives all metrics as they stand, sorted by name.
func (p *Plugin) Metrics() []Metric { return p.metrics.snapshot() }

// Close closes the open streams, ends the plugin contexts and frees the VMs. No
// worker may be in a call meanwhile, and none may be used afterwards.
func (p *Plugin) Close(ctx context.Context) error {
	var failed []error
	for _, w := range p.all() {
		for _, id := range slices.Sorted(maps.Keys(w.streams)) {
			failed = append(failed, w.streams[id].Close())
		}
		for _, r := range w.roots {
			w.finishRoot(r)
		}
		w.flush()
	}
	return errors.Join(append(failed, p.free(ctx))...)
}

// free ends the VMs, and the module when it is the plugin's own.
func (p *Plugin) free(ctx context.Context) error {
	for _, w := range p.all() {
		w.closeRedis()
	}
	if p.options.Module == nil {
		return p.module.Close(ctx)
	}
	var failed []error
	for _, w := range p.all() {
		if !w.dead() {
			failed = append(failed, w.module.Close(ctx))
		}
	}
	return errors.Join(failed...)
}

// check names the first option that cannot work.
func (o *Options) check() error {
	switch {
	case len(o.Wasm) == 0 && o.Module == nil:
		return errors.New("Options.Wasm and Options.Module are empty: give the module's bytes, or what Compile made of them")
	case o.Clock == nil:
		return errors.New("Options.Clock is nil: give a VirtualClock or RealClock()")
	case o.Workers < 1:
		return fmt.Errorf("Options.Workers is %d: a gateway has at least 1 worker", o.Workers)
	case o.LogLevel != nil && *o.LogLevel > LogCritical:
		return fmt.Errorf("Options.LogLevel is %d: the highest is %d (%s)", *o.LogLevel, LogCritical, LogCritical)
	}
	return nil
}
