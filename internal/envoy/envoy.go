// Package envoy runs a real Envoy as a child process, for tests, the demo and the comparison.
//
// Its configuration is built from go-control-plane's types (NewListener, StaticCluster, …) and
// reaches the process as files that it watches, so listeners and endpoints can change while it runs.
package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
)

const (
	// startTimeout is generous: compiling the plugin takes seconds even on an idle machine, and several may start at once.
	startTimeout = 3 * time.Minute

	defaultDrainTime = time.Minute

	// stopGrace is for an Envoy whose main thread is busy, for example compiling a plugin.
	stopGrace = 5 * time.Second
)

// Setup is what an Envoy is started with.
type Setup struct {
	// Binary is the path of the program; empty means what Binary finds.
	Binary string
	// Workers is the number of worker threads (--concurrency); 0 means 1.
	Workers int
	// Listener is delivered over LDS. See NewListener.
	Listener *listenerv3.Listener
	// Clusters are delivered over CDS. Those of the type EDS get their endpoints by file, too.
	Clusters []*clusterv3.Cluster
	// Endpoints are the first addresses, "ip:port", of the EDS clusters by name. A cluster that
	// is not mentioned starts empty.
	Endpoints map[string][]string
	// OnLog is called for each line of Envoy's log, in order and from one goroutine; nil means
	// that nobody listens. It must not wait for the Envoy.
	OnLog func(LogLine)
	// OnAccess is called for each request that has ended, in order and from one goroutine (not
	// OnLog's); nil means that nobody listens. It must not wait for the Envoy. Entries come within
	// a tenth of a second, later while Envoy's main thread compiles a plugin; the last of them
	// before Stop returns.
	OnAccess func(Access)
	// DrainTime is how long a listener that was replaced may go on with its requests; what is
	// unfinished then is cut off. 0 means a minute. Stop does not wait for it.
	DrainTime time.Duration
}

// Envoy is a running process. Its methods may be called from any goroutine.
type Envoy struct {
	process   *process
	admin     admin
	discovery *discovery
	log       *logBook
	access    *accessReader
	address   string // of the listener
	workers   int

	// updates is held during a change of configuration: what Envoy counts belongs to one change.
	updates sync.Mutex
}

// Start runs an Envoy and returns when all its workers accept connections. The process ends with
// Stop, when ctx is done, or with the calling process. Whatever Start returns as an error, nothing
// is left running; it is a *RefusedError if Envoy did not take the listener or a cluster.
func Start(ctx context.Context, s Setup) (*Envoy, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "endpoint-breaker-envoy-")
	if err != nil {
		return nil, fmt.Errorf("a folder for Envoy's configuration: %w", err)
	}
	e, err := launch(ctx, s, folder)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := e.waitUntilServing(waiting); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

func (s Setup) withDefaults() (Setup, error) {
	if s.Listener == nil {
		return s, errors.New("envoy.Setup needs a Listener")
	}
	if s.Workers < 0 {
		return s, fmt.Errorf("envoy.Setup.Workers: got %d, want at least 1", s.Workers)
	}
	s.Workers = max(s.Workers, 1)
	if s.DrainTime < 0 {
		return s, fmt.Errorf("envoy.Setup.DrainTime: got %s, want none or a positive one", s.DrainTime)
	}
	if s.DrainTime == 0 {
		s.DrainTime = defaultDrainTime
	}
	if s.Binary == "" {
		binary, err := Binary()
		if err != nil {
			return s, err
		}
		s.Binary = binary
	}
	return s, nil
}

// launch writes the configuration into the folder, which from then on is the process's, and
// starts the process.
func launch(ctx context.Context, s Setup, folder string) (*Envoy, error) {
	discovery, err := newDiscovery(folder, s)
	if err != nil {
		return nil, err
	}
	args, err := writeBootstrap(folder, discovery, s)
	if err != nil {
		return nil, err
	}
	e := &Envoy{
		discovery: discovery,
		log:       newLogBook(s.OnLog),
		access:    newAccessReader(s.OnAccess),
		workers:   s.Workers,
	}
	e.process, err = startProcess(ctx, command{
		path: s.Binary, args: args, stdout: e.access, stderr: e.log, grace: stopGrace,
		ended: func() error {
			e.log.end()
			return os.RemoveAll(folder)
		},
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Envoy) waitUntilServing(ctx context.Context) error {
	address, err := e.adminAddress(ctx)
	if err != nil {
		return err
	}
	e.admin = admin{address: address}
	if err := e.waitForListener(ctx, listenerCounts{}, 0); err != nil {
		return err
	}
	e.address, err = e.admin.listenerAddress(ctx)
	return err
}

// URL is where the listener accepts requests, "http://127.0.0.1:port". It stays the same when the
// listener changes.
func (e *Envoy) URL() string { return "http://" + e.address }

// AdminURL is where Envoy's administration interface answers.
func (e *Envoy) AdminURL() string { return "http://" + e.admin.address }

// Stop ends the process, without draining, and removes its files. It may be called twice. The
// error tells that Envoy had ended by itself before, or that an access log entry was not
// understood.
func (e *Envoy) Stop() error {
	return errors.Join(e.process.stop(), e.access.failure())
}

// until polls a condition. It gives up when ctx is done or the process has ended; the error then
// names what was waited for and the last lines of the log.
func (e *Envoy) until(ctx context.Context, what string, met func(context.Context) (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := met(ctx)
		if ok {
			return nil
		}
		var refused *RefusedError
		if errors.As(err, &refused) {
			return err
		}
		select {
		case <-e.process.done:
			return fmt.Errorf("waiting for %s: Envoy has ended: %w%s", what, e.process.cause(), e.log.tail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w%s", what, errors.Join(ctx.Err(), err), e.log.tail())
		case <-tick.C:
		}
	}
}
