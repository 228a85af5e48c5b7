package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/pluginlog"
)

// countEvery is how often Envoy is asked for the plugin's metrics.
const countEvery = 200 * time.Millisecond

// realEnvoy is a stock Envoy. Its shared data cannot be read: blocks are known from the
// plugin's log.
type realEnvoy struct {
	observer observer
	envoy    *envoy.Envoy

	stopCounting context.CancelFunc
	counting     sync.WaitGroup

	mu      sync.Mutex
	counted Counters
	trapped []error
}

// UnavailableError tells that a gateway could not be started here, whatever the plugin.
type UnavailableError struct {
	Gateway Gateway
	Cause   error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s does not start here: %v", e.Gateway, e.Cause)
}

func (e *UnavailableError) Unwrap() error { return e.Cause }

func startEnvoy(ctx context.Context, s gatewaySetup) (*realEnvoy, error) {
	filters, err := envoy.Breaker{Wasm: s.options.Wasm, Configuration: s.options.Plan.Configuration()}.Filters()
	if err != nil {
		return nil, err
	}
	listener, err := envoy.NewListener(envoy.Routes(envoy.AnyHost(envoy.Route(routeName, "/", clusterName))), filters...)
	if err != nil {
		return nil, err
	}
	g := &realEnvoy{observer: s.observer}
	log := &envoyLog{observer: s.observer, trapped: g.trap, blocks: map[string]seenBlock{}}
	g.envoy, err = envoy.Start(ctx, envoy.Setup{
		Workers: s.options.Workers, Listener: listener,
		Clusters: []*clusterv3.Cluster{envoy.StaticCluster(clusterName, s.hosts...)},
		OnLog:    log.read, OnAccess: g.access,
	})
	if err != nil {
		return nil, whyNotStarted(ctx, err)
	}
	counting, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stopCounting = stop
	g.counting.Go(func() { g.count(counting) })
	return g, nil
}

// whyNotStarted tells a refused plugin and an interruption from an Envoy that cannot run.
func whyNotStarted(ctx context.Context, err error) error {
	var refused *envoy.RefusedError
	if errors.As(err, &refused) || ctx.Err() != nil {
		return err
	}
	return &UnavailableError{Gateway: Envoy, Cause: err}
}

func (g *realEnvoy) url() string { return g.envoy.URL() }

func (g *realEnvoy) counters() Counters {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counted
}

// close also tells of VMs that died during the story. Envoy is not drained: when the clients
// are done nobody waits any more.
func (g *realEnvoy) close(context.Context) error {
	g.stopCounting()
	g.counting.Wait()
	err := g.envoy.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(append(g.trapped, err)...)
}

// count keeps the counters up to date. An Envoy that does not answer is one that has ended, and
// its end is told by close.
func (g *realEnvoy) count(ctx context.Context) {
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	for {
		if metrics, err := g.envoy.Metrics(ctx); err == nil {
			g.mu.Lock()
			g.counted = countersOf(func(name string) int64 { return int64(metrics["wasmcustom."+name]) })
			g.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// access takes the moment when the request came for that of the decision: the plugin decides
// within the callback for its headers, well below a millisecond later; see inexact.
func (g *realEnvoy) access(a envoy.Access) {
	g.observer.decided(a.RequestID, decision{began: a.Start, ended: a.Start})
}

func (g *realEnvoy) trap(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trapped = append(g.trapped, err)
}

// inexact is how much earlier than the log says a block may have ended. The plugin reads the
// clock, writes the block and then its line; and a request that came in time is decided about
// a little later. Both take well below a millisecond, unless a busy machine puts Envoy's
// thread aside in between.
const inexact = 100 * time.Millisecond

// envoyLog understands Envoy's log. Only the goroutine that reads it calls it.
type envoyLog struct {
	observer observer
	trapped  func(error)
	blocks   map[string]seenBlock // the latest of each address
}

// byPlugin is how Envoy begins a line that the plugin, or Go's runtime in it, has written.
const byPlugin = "wasm log"

func (l *envoyLog) read(line envoy.LogLine) {
	if line.Component != "wasm" || line.Level == "info" {
		return
	}
	if !strings.HasPrefix(line.Message, byPlugin) {
		if line.Level != "warning" {
			l.trapped(fmt.Errorf("log of Envoy: %s", line.Message))
		}
		return
	}
	l.observer.logged("log of Envoy: " + cutPluginName(line.Message))
	l.readBlock(line.Time, line.Message)
}

func (l *envoyLog) readBlock(written time.Time, message string) {
	told, found, err := pluginlog.ParseBlock(message)
	if err != nil {
		l.observer.broken(err)
	}
	if !found || told.Mode == "observe" {
		return
	}
	block := seenBlock{
		address: told.Endpoint, since: written, inexact: inexact, seen: written,
		strikes: told.Strikes, reason: told.Reason,
	}
	if known, blocked := l.blocks[told.Endpoint]; blocked && told.Extended {
		block = known
	}
	block.until = written.Add(told.For)
	l.blocks[told.Endpoint] = block
	l.observer.blocked(block)
}
