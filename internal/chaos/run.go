package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

// Options say what to play.
type Options struct {
	Module   *wasmhost.Module // the plugin
	Seed     uint64           // the same seed plays the same
	Requests int              // how many
	Slow     bool             // one host is truly slow; else none is
}

// begins is what the gateway's clock shows at first.
const begins = 1000 * time.Second

// Run plays requests. An error is a mistake of the run itself or a plugin that traps, never a
// wrong block; those are for Result.Mistakes.
func Run(ctx context.Context, o Options) (Result, error) {
	random := newRandom(o.Seed)
	g := &gateway{
		random: random, setup: random.setup(), left: o.Requests, open: map[*exchange]bool{},
		clock:  wasmhost.NewVirtualClock(begins, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		result: Result{Seed: o.Seed, Counters: map[string]int64{}, Played: map[string]int{}, blocked: map[string]int{}},
	}
	g.result.Setup = g.setup.String()
	g.hosts = newHosts(g.setup.hosts)
	if o.Slow {
		h := oneOf(random, g.hosts...)
		h.slow, g.result.Slow = true, h.address
	}
	plugin, err := wasmhost.Load(ctx, wasmhost.Options{
		Module: o.Module, Configuration: g.setup.configuration, Workers: g.setup.workers, Clock: g.clock, Seed: o.Seed, OnLog: g.hear,
	})
	if err != nil {
		return g.result, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	g.plugin = plugin
	g.reconfigure = func(configuration string) error { return plugin.Reconfigure(ctx, configuration) }
	g.play()
	g.result.Length = g.now() - begins
	err = errors.Join(g.err, plugin.Close(ctx))
	for _, metric := range plugin.Metrics() {
		g.result.Counters[metric.Name[strings.LastIndex(metric.Name, ".")+1:]] += metric.Value
	}
	if err != nil {
		return g.result, fmt.Errorf("seed %d, after %s: %w", o.Seed, g.now()-begins, err)
	}
	return g.result, nil
}
