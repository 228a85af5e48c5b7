package foreign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

const (
	cluster = "outbound|80||model-2-12.static"
	route   = "ai-route-route-2.internal"
	hostA   = "10.0.0.1:8000"
	hostB   = "10.0.0.2:8000"
)

var wallStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// binaries are all plugins by name, ours among them. Each is compiled once for all tests, and read
// inside a test, so that the test cache knows the file.
var binaries = compiledOnce()

func compiledOnce() map[string]func() (*wasmhost.Module, error) {
	modules := map[string]func() (*wasmhost.Module, error){}
	for _, name := range slices.Concat([]string{ours}, beforeFinisher(), afterFinisher()) {
		modules[name] = sync.OnceValues(func() (*wasmhost.Module, error) {
			binary, err := os.ReadFile(pathOf(name))
			if err != nil {
				return nil, err
			}
			return wasmhost.Compile(context.Background(), binary, "")
		})
	}
	return modules
}

// compiled gives the binary of a plugin. One that is missing skips the test, and fails it in CI.
func compiled(t *testing.T, name string) *wasmhost.Module {
	t.Helper()
	require.Contains(t, binaries, name)
	module, err := binaries[name]()
	if errors.Is(err, os.ErrNotExist) {
		missing(t, name)
	}
	require.NoError(t, err)
	return module
}

func pathOf(name string) string {
	if name == ours {
		return filepath.Join("..", "dist", "endpoint-breaker.wasm")
	}
	return filepath.Join("..", ".cache", "foreign", "0.5.1", name, "plugin.wasm")
}

func missing(t *testing.T, name string) {
	t.Helper()
	target := "make foreign-plugins"
	if name == ours {
		target = "make build"
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: %s", name, target)
	}
	t.Skipf("%s is missing: %s", name, target)
}

// filter is one plugin of a chain with its configuration.
type filter struct {
	name, configuration string
}

// gateway is a chain of plugins on one worker, under virtual time.
type gateway struct {
	t       *testing.T
	clock   *wasmhost.VirtualClock
	table   wasmhost.RouteTable
	plugins []*wasmhost.Plugin
	breaker *wasmhost.Plugin // ours among them; nil = not in the chain
	chain   *wasmhost.Chain
	lines   []string
	// calls is how long each answer to a plugin's own call takes.
	calls time.Duration
	// upstream is how long a host takes to the response headers.
	upstream func(host string) time.Duration
}

const (
	quickCall    = time.Millisecond
	slowUpstream = 100 * time.Millisecond
)

func alike(string) time.Duration { return slowUpstream }

// clusters are what the plugins may call. Nobody listens there, unless a test says so.
type clusters map[string]wasmhost.Cluster

func fixedTable() wasmhost.RouteTable {
	return wasmhost.FixedRoute(wasmhost.Route{Name: route, Cluster: cluster, Hosts: hosts})
}

func hosts() []wasmhost.Host {
	return []wasmhost.Host{{Address: hostA, Health: "Healthy"}, {Address: hostB, Health: "Healthy"}}
}

// start loads the plugins in the order in which requests meet them.
func start(t *testing.T, known clusters, filters ...filter) *gateway {
	t.Helper()
	return startSeeded(t, 1, known, filters...)
}

func startSeeded(t *testing.T, seed uint64, known clusters, filters ...filter) *gateway {
	t.Helper()
	g := &gateway{
		t: t, clock: wasmhost.NewVirtualClock(1000*time.Second, wallStart), table: fixedTable(),
		calls: quickCall, upstream: alike,
	}
	for _, f := range filters {
		plugin, err := wasmhost.Load(t.Context(), wasmhost.Options{
			Module: compiled(t, f.name), Configuration: f.configuration, PluginName: f.name,
			Workers: 1, Clock: g.clock, Seed: seed, Clusters: known,
			OnLog: func(line wasmhost.LogLine) { g.lines = append(g.lines, f.name+" "+line.String()) },
		})
		require.NoError(t, err, f.name)
		t.Cleanup(func() { require.NoError(t, plugin.Close(context.WithoutCancel(t.Context()))) })
		g.plugins = append(g.plugins, plugin)
		if f.name == ours {
			g.breaker = plugin
		}
	}
	chain, err := wasmhost.NewChain(g.plugins...)
	require.NoError(t, err)
	g.chain = chain
	return g
}

// request is what a client sends; response what the upstream answers with.
type request struct {
	headers    wasmhost.Headers
	body       string
	properties map[string]string // what filters further in front would have set
}

type response struct {
	headers wasmhost.Headers
	chunks  []string
}

// outcome is what became of them.
type outcome struct {
	*wasmhost.ChainStream
	requestBody  string // at the upstream; "" when it was not reached
	status       string
	responseBody string // at the client
	route        string
}

// send is one request with its response, from the client's first byte to the end of the stream.
func (g *gateway) send(in request, out response) outcome {
	g.t.Helper()
	s, err := g.chain.NewStream(0, g.table)
	require.NoError(g.t, err)
	for name, value := range in.properties {
		s.SetProperty(name, []byte(value))
	}
	got := outcome{ChainStream: s}
	g.feed(s.RequestHeaders(in.headers, in.body == ""))
	if in.body != "" && s.LocalReply() == nil {
		half := len(in.body) / 2
		g.feed(s.RequestData([]byte(in.body[:half]), false))
		g.feed(s.RequestData([]byte(in.body[half:]), true))
	}
	if s.LocalReply() == nil {
		require.True(g.t, s.Released(), "the request hangs: %s", strings.Join(g.lines, "\n"))
		body, ended := s.TakeRequestBody()
		require.True(g.t, ended, "the request's end never reached the router")
		got.requestBody = string(body)
		g.answer(s, out)
	}
	body, ended := s.TakeResponseBody()
	require.True(g.t, ended, "the response's end never reached the client")
	got.responseBody = string(body)
	got.status, _ = s.ResponseHeadersNow().Get(":status")
	matched, _ := s.Route()
	got.route = matched.Name
	require.NoError(g.t, s.Close())
	g.settle()
	require.NoError(g.t, g.chain.Tick(0))
	return got
}

func (g *gateway) answer(s *wasmhost.ChainStream, out response) {
	g.t.Helper()
	host := s.OverrideHost()
	if host == "" {
		host = hostA
	}
	s.SetUpstream(host, 1)
	g.clock.Advance(g.upstream(host))
	g.feed(s.ResponseHeaders(out.headers, len(out.chunks) == 0))
	for i, chunk := range out.chunks {
		g.clock.Advance(10 * time.Millisecond)
		g.feed(s.ResponseData([]byte(chunk), i == len(out.chunks)-1))
	}
}

// feed waits for the answers that a piece has made the plugins ask for.
func (g *gateway) feed(_ wasmhost.Flow, err error) {
	g.t.Helper()
	require.NoError(g.t, err)
	g.settle()
}

// settle delivers answers until none is left.
func (g *gateway) settle() {
	g.t.Helper()
	for round := 0; g.chain.Pending(0) > 0; round++ {
		require.Less(g.t, round, 20, "the plugins never stop calling")
		g.clock.Advance(g.calls)
		require.NoError(g.t, g.chain.Deliver(0))
	}
}

// requireNoTrap fails when a VM has died.
func (g *gateway) requireNoTrap() {
	g.t.Helper()
	for _, plugin := range g.plugins {
		require.NoError(g.t, plugin.Base().Trapped())
		require.NoError(g.t, plugin.Worker(0).Trapped())
	}
}

// metric adds up all metrics of a plugin whose name has all of the words.
func (g *gateway) metric(i int, words ...string) int64 {
	sum := int64(0)
	for _, m := range g.plugins[i].Metrics() {
		all := true
		for _, word := range words {
			all = all && strings.Contains(m.Name, word)
		}
		if all {
			sum += m.Value
		}
	}
	return sum
}

// logged tells whether a line of the log has all of the words.
func (g *gateway) logged(words ...string) bool {
	for _, line := range g.lines {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}
