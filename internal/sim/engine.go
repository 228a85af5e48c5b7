package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// The clocks at the start of every run: fixed, so that runs can be compared, and
// far enough from zero for a gateway that has been up for a while.
const (
	startMonotonic = 1000 * time.Hour
	startWall      = 1767258000 // 2026-01-01 09:00:00 UTC
)

// Options say how to play a scenario.
type Options struct {
	Wasm    []byte // the plugin as shipped
	Workers int    // worker threads, at least 1
	Seed    uint64
	// Log takes the event log, one line an event; nil drops it.
	Log io.Writer
	// Progress is told the time of the run at every event; nil = nobody asks.
	Progress func(now time.Duration)
	// CacheDir holds compiled plugins; "" means endpoint-breaker in the user's cache
	// directory.
	CacheDir string
}

// simulation is one run. Everything in it happens on one goroutine.
type simulation struct {
	scenario *Scenario
	options  Options
	queue    queue
	clock    *wasmhost.VirtualClock
	faults   *wasmhost.Faults
	plugin   *wasmhost.Plugin

	clusters  map[string]*cluster
	endpoints map[string]*endpoint
	ticking   map[*wasmhost.Worker]bool

	log    *EventLog
	blocks *blockWatch
	result *Result
	over   bool

	inFlight int // requests that have not ended
	// The workers that a fault has interrupted in the middle of a callback: none
	// of them may be called again before it has returned.
	interrupted map[int]bool
}

// Run plays a scenario to its end. It fails when the scenario cannot be played,
// such as for a configuration that the plugin refuses at the start; whether the
// plugin did well is for Result.Verdicts to say. A cancelled context ends it with
// the context's error.
func Run(ctx context.Context, s *Scenario, o Options) (*Result, error) {
	m, err := loaded(ctx, s, o)
	if err != nil {
		return nil, err
	}
	err = m.play(ctx)
	return m.result, errors.Join(err, m.log.Flush(), m.plugin.Close(ctx))
}

// loaded is a run that is about to begin.
func loaded(ctx context.Context, s *Scenario, o Options) (*simulation, error) {
	m := newSimulation(s, o)
	m.log.Line("scenario %s, workers %d, seed %d", s.Name, o.Workers, o.Seed)
	plugin, err := wasmhost.Load(ctx, wasmhost.Options{
		Wasm:          o.Wasm,
		Configuration: string(s.Plugin),
		Workers:       o.Workers,
		Clock:         m.clock,
		Seed:          o.Seed,
		Faults:        m.faults,
		OnLog:         m.pluginLogs,
		CacheDir:      o.CacheDir,
	})
	var refused *wasmhost.ConfigurationRefusedError
	if errors.As(err, &refused) {
		return nil, errors.New(whyRefused(refused))
	}
	if err != nil {
		return nil, fmt.Errorf("plugin does not start: %w", err)
	}
	m.plugin = plugin
	m.blocks = newBlockWatch(s, plugin.SharedData(), m.log)
	return m, nil
}

func newSimulation(s *Scenario, o Options) *simulation {
	m := &simulation{
		scenario:  s,
		options:   o,
		clock:     wasmhost.NewVirtualClock(startMonotonic, time.Unix(startWall, 0).UTC()),
		faults:    wasmhost.NewFaults(),
		clusters:  map[string]*cluster{},
		endpoints: map[string]*endpoint{},
		ticking:   map[*wasmhost.Worker]bool{},
		result:    NewResult(s, o.Workers),

		interrupted: map[int]bool{},
	}
	m.log = NewEventLog(o.Log, m.now)
	for i := range s.Clusters {
		m.addCluster(&s.Clusters[i])
	}
	return m
}

// play runs events in their order until the scenario's duration is over. What is
// in flight then stays unfinished.
func (m *simulation) play(ctx context.Context) error {
	m.startTicks()
	for _, source := range m.scenario.sources(m.options.Workers, m.options.Seed) {
		m.schedule(source)
	}
	for _, event := range m.scenario.Events {
		for _, moment := range event.Moments(m.scenario.Duration) {
			m.queue.at(moment, func() error { return m.runEvent(ctx, event) })
		}
	}
	end := time.Duration(m.scenario.Duration)
	for {
		next, found := m.queue.pop(end)
		if !found {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		m.clock.Advance(next.at - m.now())
		if err := next.do(); err != nil {
			return fmt.Errorf("at %s: %w", next.at, err)
		}
		m.blocks.look(m.now())
		if m.options.Progress != nil {
			m.options.Progress(m.now())
		}
	}
	m.clock.Advance(end - m.now())
	m.finish()
	return nil
}

// now is the time since the start of the run.
func (m *simulation) now() time.Duration { return m.clock.Monotonic() - startMonotonic }

// random is a stream of random numbers of its own for each purpose, so that one
// more traffic in a file does not change what the others do.
func (m *simulation) random(purpose string) *rand.Rand {
	return newRandom(m.options.Seed, purpose)
}

func (m *simulation) runEvent(ctx context.Context, e Event) error {
	_, what, err := e.action()
	if err != nil {
		return err
	}
	m.log.Line("event %s", what)
	return what.run(ctx, m)
}

// startTicks starts the ticks of every VM that wants them and has none yet, the
// base VM included. Each ticks at a phase of its own, as threads do that
// started at different moments.
func (m *simulation) startTicks() {
	workers := []*wasmhost.Worker{m.plugin.Base()}
	for i := range m.plugin.Workers() {
		workers = append(workers, m.plugin.Worker(i))
	}
	phase := m.random("ticks")
	for i, worker := range workers {
		period := worker.TickPeriod()
		offset := phase.Float64()
		if period == 0 || m.ticking[worker] {
			continue
		}
		m.ticking[worker] = true
		wait := time.Duration(offset * float64(period)).Truncate(time.Millisecond)
		m.queue.at(m.now()+wait, func() error { return m.tick(worker, i+wasmhost.BaseVM) })
	}
}

func (m *simulation) tick(worker *wasmhost.Worker, index int) error {
	period := time.Duration(0)
	// A trap is a result of the run, not a failure of it: the gateway goes on
	// without the filter on that worker.
	if worker.Tick() == nil {
		period = worker.TickPeriod()
	}
	if size := worker.MemoryBytes(); m.result.noteMemory(index, m.now(), size) {
		m.log.Line("%s has %d bytes of memory", workerName(index), size)
	}
	if period == 0 {
		m.ticking[worker] = false
		return nil
	}
	m.queue.at(m.now()+period, func() error { return m.tick(worker, index) })
	return nil
}

// pluginLogs takes the gateway's log up to the end of the run: what the plugin
// says while the gateway shuts down belongs to no scenario.
func (m *simulation) pluginLogs(line wasmhost.LogLine) {
	if m.over {
		return
	}
	m.log.Line("%s", strings.ReplaceAll(line.String(), "\n", " | "))
	m.result.PluginLog = append(m.result.PluginLog, line.Message)
}

// rewriteBlocklist is another worker's write: same value, new CAS number.
func (m *simulation) rewriteBlocklist() {
	store := m.plugin.SharedData()
	value, _, status := store.Get(blocklist.Key)
	if status == wasmhost.StatusOK {
		store.Set(blocklist.Key, value, 0)
	}
}

// tickOthers lets all workers but one look at their requests in flight in the
// middle of that one's callback. A trap shows at the end of the run.
func (m *simulation) tickOthers(interrupted int) {
	m.interrupted[interrupted] = true
	defer delete(m.interrupted, interrupted)
	for i := range m.plugin.Workers() {
		if !m.interrupted[i] {
			_ = m.plugin.Worker(i).Tick()
		}
	}
	m.blocks.look(m.now())
}

// finish notes what the run leaves behind.
func (m *simulation) finish() {
	m.over = true
	for _, metric := range m.plugin.Metrics() {
		m.result.Metrics[metric.Name] = metric.Value
	}
	for i := range m.plugin.Workers() {
		if m.plugin.Worker(i).Trapped() != nil {
			m.result.Trapped++
		}
	}
	if m.plugin.Base().Trapped() != nil {
		m.result.Trapped++
	}
	m.result.Blocks = m.blocks.episodes
}
