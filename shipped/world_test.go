package shipped

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/wasmhost"
)

const (
	cluster = "outbound|443||llm.dns"
	hostA   = "10.0.0.1:8000"
	hostB   = "10.0.0.2:8000"
	hostC   = "10.0.0.3:8000"
)

// threeConfirmations is the configuration of the numbered cases: samples are taken when the
// answer is there.
const threeConfirmations = `{"confirm_count": 3, "check_interval": "0s"}`

// compile compiles the shipped binary, once for all tests.
func compile(t *testing.T) *wasmhost.Module {
	t.Helper()
	wasm := plugintest.Wasm(t)
	compiled.once.Do(func() {
		compiled.module, compiled.err = wasmhost.Compile(context.WithoutCancel(t.Context()), wasm, "")
	})
	require.NoError(t, compiled.err)
	return compiled.module
}

var compiled struct {
	once   sync.Once
	module *wasmhost.Module
	err    error
}

// world is one gateway with the plugin, a hand-moved clock and one cluster.
type world struct {
	t       *testing.T
	plugin  *wasmhost.Plugin
	clock   *wasmhost.VirtualClock
	faults  *wasmhost.Faults
	hosts   []wasmhost.Host
	lines   []string
	started time.Duration
	robin   int // of Envoy's own balancing

	removeFault func() // see withFault
	armed       bool   // lets the faults of a test act
}

type option func(*world, *wasmhost.Options)

func withEnv(name, value string) option {
	return func(_ *world, o *wasmhost.Options) { o.Env = map[string]string{name: value} }
}

// withFault is there from the start until removeFault.
func withFault(rule wasmhost.FaultRule) option {
	return func(w *world, _ *wasmhost.Options) { w.removeFault = w.faults.Add(rule) }
}

// brokenClock gives zero, the moment that stands for "unknown", while it is broken. (At its
// start Go's runtime itself would not bear it.)
type brokenClock struct {
	*wasmhost.VirtualClock
	broken bool
}

func (c *brokenClock) Monotonic() time.Duration {
	if c.broken {
		return 0
	}
	return c.VirtualClock.Monotonic()
}

func withClock(c *brokenClock) option {
	return func(w *world, o *wasmhost.Options) { c.VirtualClock, o.Clock = w.clock, c }
}

// start loads the shipped binary; the test fails if it cannot.
func start(t *testing.T, configuration string, workers int, options ...option) *world {
	t.Helper()
	w, err := load(t, configuration, workers, options...)
	require.NoError(t, err)
	return w
}

func load(t *testing.T, configuration string, workers int, options ...option) (*world, error) {
	t.Helper()
	w := &world{
		t:      t,
		clock:  wasmhost.NewVirtualClock(1000*time.Second, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		faults: wasmhost.NewFaults(),
		hosts:  []wasmhost.Host{{Address: hostA, Health: "Healthy"}, {Address: hostB, Health: "Healthy"}, {Address: hostC, Health: "Healthy"}},
	}
	w.started = w.clock.Monotonic()
	o := wasmhost.Options{
		Module: compile(t), Configuration: configuration, Workers: workers, Clock: w.clock, Seed: 1, Faults: w.faults,
		OnLog: func(line wasmhost.LogLine) { w.lines = append(w.lines, line.String()) },
	}
	for _, apply := range options {
		apply(w, &o)
	}
	plugin, err := wasmhost.Load(t.Context(), o)
	w.plugin = plugin
	if err == nil {
		t.Cleanup(func() { require.NoError(t, w.plugin.Close(context.WithoutCancel(t.Context()))) })
	}
	return w, err
}

// to moves the clock to that many seconds after the start, with the ticks that come due.
func (w *world) to(seconds float64) {
	w.t.Helper()
	target := w.started + time.Duration(seconds*float64(time.Second))
	for {
		period := w.plugin.Worker(0).TickPeriod()
		if period == 0 {
			break
		}
		sinceTick := (w.clock.Monotonic() - w.started) % period
		if w.clock.Monotonic()+period-sinceTick > target {
			break
		}
		w.clock.Advance(period - sinceTick)
		w.tick()
	}
	require.GreaterOrEqual(w.t, target, w.clock.Monotonic(), "time goes forward")
	w.clock.Advance(target - w.clock.Monotonic())
}

func (w *world) tick() {
	w.t.Helper()
	require.NoError(w.t, w.plugin.Base().Tick())
	for i := range w.plugin.Workers() {
		require.NoError(w.t, w.plugin.Worker(i).Tick())
	}
}

// call is one request through the gateway.
type call struct {
	w *world
	*wasmhost.Stream
	endpoint string
}

var post = wasmhost.Headers{
	{":method", "POST"},
	{":path", "/v1/chat/completions"},
	{":authority", "llm.example"},
	{":scheme", "http"},
	{"content-type", "application/json"},
}

var get = wasmhost.Headers{{":method", "GET"}, {":path", "/v1/models"}, {":authority", "llm.example"}, {":scheme", "http"}}

func (w *world) stream(worker int) *call {
	w.t.Helper()
	s, err := w.plugin.Worker(worker).NewStream(wasmhost.Route{
		Name: "llm", Cluster: cluster, Hosts: func() []wasmhost.Host { return w.hosts },
	})
	require.NoError(w.t, err)
	return &call{w: w, Stream: s}
}

// send is a POST with a body, routed as far as the upstream.
func (w *world) send(worker int) *call {
	w.t.Helper()
	c := w.stream(worker)
	_, err := c.RequestHeaders(post, false)
	require.NoError(w.t, err)
	_, err = c.RequestData([]byte("{}"), true)
	require.NoError(w.t, err)
	require.True(w.t, c.Released(), "the request never reached the router")
	return c.routed(0)
}

// sendTo is the same, and Envoy's balancing would choose the endpoint.
func (w *world) sendTo(worker int, endpoint string) *call {
	w.t.Helper()
	for w.hosts[w.robin%len(w.hosts)].Address != endpoint {
		w.robin++
	}
	return w.send(worker)
}

// routed chooses the host as the router does: the override if there is one, else in turn.
func (c *call) routed(attempt uint64) *call {
	c.endpoint = c.OverrideHost()
	if c.endpoint == "" {
		c.endpoint = c.w.hosts[c.w.robin%len(c.w.hosts)].Address
		c.w.robin++
	}
	c.SetUpstream(c.endpoint, max(attempt, 1))
	return c
}

// answer is a complete response of the upstream.
func (c *call) answer() {
	c.w.t.Helper()
	c.answerAs("application/json")
}

func (c *call) answerAs(contentType string) {
	c.w.t.Helper()
	c.headers(contentType)
	c.chunk("{}", true)
	c.done()
}

func (c *call) headers(contentType string) {
	c.w.t.Helper()
	c.SetResponseDetails("via_upstream", 0)
	flow, err := c.ResponseHeaders(wasmhost.Headers{{":status", "200"}, {"content-type", contentType}}, false)
	require.NoError(c.w.t, err)
	require.Equal(c.w.t, wasmhost.FlowContinue, flow)
}

func (c *call) chunk(data string, last bool) {
	c.w.t.Helper()
	flow, err := c.ResponseData([]byte(data), last)
	require.NoError(c.w.t, err)
	require.Equal(c.w.t, wasmhost.FlowContinue, flow)
}

func (c *call) done() {
	c.w.t.Helper()
	require.NoError(c.w.t, c.Close())
}

// late is an answer that ends at that second and took 75.
type late struct {
	endpoint string
	end      float64
}

// slow lets worker 0's requests be answered late. It needs a clock that stands before the first
// of them is sent, and endpoints that are not blocked by then.
func (w *world) slow(answers ...late) {
	w.t.Helper()
	slices.SortStableFunc(answers, func(a, b late) int { return cmp.Compare(a.end, b.end) })
	calls := make([]*call, len(answers))
	for i, answer := range answers {
		w.to(answer.end - 75)
		calls[i] = w.sendTo(0, answer.endpoint)
		require.Equal(w.t, answer.endpoint, calls[i].endpoint, "the breaker already keeps requests away")
	}
	for i, answer := range answers {
		w.to(answer.end)
		calls[i].answer()
	}
}

// block lets worker 0 block the endpoint at 90, under threeConfirmations.
func (w *world) block(endpoint string) {
	w.t.Helper()
	w.slow(late{endpoint, 80}, late{endpoint, 85}, late{endpoint, 90})
	require.Contains(w.t, w.blocked(), endpoint)
}

// entries reads the blocklist as it stands in SharedData.
func (w *world) entries() []blocklist.Entry {
	w.t.Helper()
	value, _, status := w.plugin.SharedData().Get(blocklist.Key)
	require.Equal(w.t, wasmhost.StatusOK, status)
	entries, err := blocklist.Parse(value)
	require.NoError(w.t, err)
	return entries
}

// blocked returns the enforced blocks of this moment: the second at which each ends.
func (w *world) blocked() map[string]float64 {
	w.t.Helper()
	blocked := map[string]float64{}
	for _, e := range w.entries() {
		if !e.Observed && e.Until > w.clock.Monotonic() {
			blocked[e.Endpoint] = (e.Until - w.started).Seconds()
		}
	}
	return blocked
}

// metric reads a counter of the cluster.
func (w *world) metric(name string) int64 {
	return w.plugin.Metric("endpoint_breaker.upstream." + cluster + ".model.metric." + name)
}

// total reads a counter of the gateway.
func (w *world) total(name string) int64 { return w.plugin.Metric("endpoint_breaker.metric." + name) }

// logged returns the lines that contain all of the words.
func (w *world) logged(words ...string) []string {
	var found []string
	for _, line := range w.lines {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}
