// Package gateway is a small HTTP/1.1 gateway in real time: Go's net/http in front,
// a plugin's workers in the middle, real backends behind. It does for one route what
// a Higress worker does, so that a plugin can be shown and tested with real sockets.
//
// A plugin's calls to other clusters (wasmhost.Options.Clusters) get their answers at
// once, as soon as the callback that made them has returned.
//
// What it leaves out: HTTP/2 and TLS, retries, request and response timeouts,
// upgrades (the Upgrade header is dropped, as any hop-by-hop header), 1xx responses,
// and bodies or trailers that a plugin gives to a request without a body. A connection
// to a host that turns out dead when it is used again is replaced without a word if
// nothing of the request can have been seen, or if it is a GET: net/http does that.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"endpoint-breaker/internal/wasmhost"
)

const (
	connectTimeout     = 10 * time.Second // Istio's default for a cluster
	idleConnsPerHost   = 1024
	idleConnTimeout    = time.Minute
	readHeadersTimeout = time.Minute
)

// Options say what to serve.
type Options struct {
	// Plugin is the filter in front of the router. The gateway drives its workers
	// and its ticks from Start to Close; nobody else may do so in between. It stays
	// the caller's to close, after the gateway; whether a worker has trapped is asked
	// then, too.
	Plugin *wasmhost.Plugin
	// Clock is the one that the plugin was loaded with. Access entries are on it.
	Clock wasmhost.Clock
	// RouteName and Cluster are what the plugin is told about every request.
	RouteName, Cluster string
	// Hosts are the addresses ("ip:port") of the cluster; all start as Healthy.
	Hosts []string
	// OnAccess gets an entry when a request is over; nil = nobody. It is called on
	// the request's goroutine, so it must be safe for concurrent use.
	OnAccess func(Access)
}

// Gateway serves until Close. Its methods may be called from any goroutine.
type Gateway struct {
	options   Options
	cluster   *cluster
	workers   []*worker
	next      atomic.Uint64 // connection counter, for pinning
	transport *http.Transport
	listener  net.Listener
	server    *http.Server
	served    chan error

	connections sync.WaitGroup
	ticks       sync.WaitGroup
	stopTicks   context.CancelFunc
}

// Start listens on a free port of 127.0.0.1 and serves until Close. The context is
// for starting only.
func Start(ctx context.Context, o Options) (*Gateway, error) {
	vms := make([]vm, o.Plugin.Workers())
	for i := range vms {
		vms[i] = pluginVM{o.Plugin.Worker(i)}
	}
	return start(ctx, o, pluginVM{o.Plugin.Base()}, vms)
}

func start(ctx context.Context, o Options, base vm, vms []vm) (*Gateway, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &Gateway{
		options:  o,
		cluster:  newCluster(o.Hosts),
		listener: listener,
		served:   make(chan error, 1),
		transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
			DisableCompression:  true,
			MaxIdleConnsPerHost: idleConnsPerHost,
			IdleConnTimeout:     idleConnTimeout,
		},
	}
	for i, vm := range vms {
		g.workers = append(g.workers, newWorker(i, vm))
	}
	g.startTicks(base)
	g.server = &http.Server{
		Handler:           http.HandlerFunc(g.serve),
		ReadHeaderTimeout: readHeadersTimeout,
		ConnContext:       g.pin,
		ConnState:         g.connectionState,
	}
	go func() {
		defer close(g.served)
		g.served <- g.server.Serve(listener)
	}()
	return g, nil
}

// URL is where the gateway listens, "http://127.0.0.1:port".
func (g *Gateway) URL() string { return "http://" + g.listener.Addr().String() }

// Hosts are the cluster's hosts as they stand, in the order of Options.Hosts.
func (g *Gateway) Hosts() []HostState { return g.cluster.states() }

// Close takes no new connection, waits for the requests in progress until ctx ends,
// cuts off those that remain (their streams end as if the client had left), and
// stops the ticks. Nothing of the gateway runs any more when it returns; that some
// requests were cut off is the error. A second call does no harm.
func (g *Gateway) Close(ctx context.Context) error {
	err := g.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("gateway: requests in progress were cut off: %w", err), g.server.Close())
	}
	if serveErr := <-g.served; serveErr != nil && !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	g.connections.Wait()
	g.stopTicks()
	g.ticks.Wait()
	g.transport.CloseIdleConnections()
	return err
}

// serve takes one request through the plugin to a host and back.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	newExchange(g, w, r).serve()
}

// connectionState counts connections, because Server.Close does not wait for their
// handlers. StateNew comes before Serve can return.
func (g *Gateway) connectionState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		g.connections.Add(1)
	case http.StateClosed:
		g.connections.Done()
	case http.StateActive, http.StateIdle, http.StateHijacked:
	}
}
