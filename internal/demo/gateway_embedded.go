package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/gateway"
	"endpoint-breaker/internal/wasmhost"
)

// lookEvery is how often the blocklist is looked at.
const lookEvery = 2 * time.Millisecond

// overrideCall is what the build for Higress needs of its gateway, and the one for a stock
// Envoy does without.
const overrideCall = "proxy_set_upstream_override_host"

// embedded is the gateway of this process. Its shared data can be read, and so the blocks
// are known as the plugin wrote them.
type embedded struct {
	observer observer
	clock    pluginClock
	plugin   *wasmhost.Plugin
	gateway  *gateway.Gateway
	list     *blocklist.Reader

	stopLooking context.CancelFunc
	looking     sync.WaitGroup
}

func startEmbedded(ctx context.Context, s gatewaySetup) (g *embedded, err error) {
	wasm, err := os.ReadFile(s.options.Wasm)
	if err != nil {
		return nil, err
	}
	// Without it everything would seem to run, and nothing would be steered.
	if !bytes.Contains(wasm, []byte(overrideCall)) {
		return nil, fmt.Errorf("%s is not the plugin's build for Higress, which %s stands for: it does not import %s", s.options.Wasm, Embedded, overrideCall)
	}
	g = &embedded{observer: s.observer, clock: newPluginClock()}
	g.plugin, err = wasmhost.Load(ctx, wasmhost.Options{
		Wasm: wasm, Configuration: s.options.Plan.Configuration(), Workers: s.options.Workers,
		Clock: g.clock, Seed: s.options.Seed, OnLog: g.log,
	})
	if err != nil {
		return nil, err
	}
	g.gateway, err = gateway.Start(ctx, gateway.Options{
		Plugin: g.plugin, Clock: g.clock, RouteName: routeName, Cluster: clusterName,
		Hosts: s.hosts, OnAccess: g.access,
	})
	if err != nil {
		return nil, errors.Join(err, g.plugin.Close(context.WithoutCancel(ctx)))
	}
	g.list = blocklist.NewReader(g.plugin.SharedData())
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stopLooking = stop
	g.looking.Go(func() { g.look(looking) })
	return g, nil
}

func (g *embedded) url() string { return g.gateway.URL() }

func (g *embedded) counters() Counters {
	return countersOf(func(name string) int64 { return g.plugin.Metric(name) })
}

// close also tells of a worker whose VM died during the story.
func (g *embedded) close(ctx context.Context) error {
	g.stopLooking()
	g.looking.Wait()
	failed := []error{g.gateway.Close(ctx)}
	for i := range g.plugin.Workers() {
		failed = append(failed, g.plugin.Worker(i).Trapped())
	}
	failed = append(failed, g.plugin.Base().Trapped(), g.plugin.Close(ctx))
	return errors.Join(failed...)
}

// look follows the plugin's blocklist in the shared data, as every worker sees it.
func (g *embedded) look(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := tellBlocks(g.list, g.clock, g.observer); err != nil {
			g.observer.broken(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tellBlocks tells what the list says if it was written since the last look. Its error is a
// value that cannot be read.
func tellBlocks(list *blocklist.Reader, clock pluginClock, to observer) error {
	entries, changed, err := list.Changed()
	if err != nil || !changed {
		return err
	}
	seen := clock.Wall()
	for _, entry := range entries {
		if entry.Observed {
			continue
		}
		to.blocked(seenBlock{
			address: entry.Endpoint, since: clock.at(entry.Since), until: clock.at(entry.Until), seen: seen,
			strikes: entry.Strikes, reason: entry.Reason,
		})
	}
	return nil
}

func (g *embedded) access(a gateway.Access) {
	g.observer.decided(a.RequestID, decision{g.clock.at(a.HeadersBegan), g.clock.at(a.HeadersEnded)})
}

// log passes on what the plugin itself has to say, keyword and all, without what the
// wrapper of its SDK puts before it.
func (g *embedded) log(line wasmhost.LogLine) {
	if line.Level < wasmhost.LogWarn {
		return
	}
	g.observer.logged(fmt.Sprintf("log of worker %d: %s", line.Worker, cutPluginName(line.Message)))
}

// pluginClock is the machine's, and knows what a time that the plugin has read is called
// elsewhere.
type pluginClock struct {
	wasmhost.Clock
	monotonic time.Duration // one moment,
	time      time.Time     // on both clocks
}

func newPluginClock() pluginClock {
	clock := wasmhost.RealClock()
	return pluginClock{Clock: clock, monotonic: clock.Monotonic(), time: clock.Wall()}
}

func (c pluginClock) at(monotonic time.Duration) time.Time {
	return c.time.Add(monotonic - c.monotonic)
}
