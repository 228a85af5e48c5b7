package pluginlog_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/pluginlog"
	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/wasmhost"
)

const (
	cluster  = `outbound|443||"llm" dns`
	endpoint = "[fd00::1]:8000"
)

// TestTheShippedPluginsOwnLinesAreRead has the shipped plugin block its only endpoint, and
// then, since it steps aside, find a younger request late there, too.
func TestTheShippedPluginsOwnLinesAreRead(t *testing.T) {
	p := load(t, `{"slow_threshold": "10s", "block_ttl": "45s", "dedup_window": "0s", "confirm_count": 1}`)
	p.request()
	p.to(10 * time.Second)
	p.to(11 * time.Second)
	p.request()
	p.to(21 * time.Second)
	want := pluginlog.Block{Mode: "enforce", Cluster: cluster, Endpoint: endpoint, For: 45 * time.Second, Strikes: 1, Reason: "in_flight"}
	extended := want
	extended.Extended = true
	assert.Equal(t, []pluginlog.Block{want, extended}, p.told)
}

func TestAnObservedBlockIsToldAsSuch(t *testing.T) {
	p := load(t, `{"slow_threshold": "10s", "confirm_count": 1, "mode": "observe"}`)
	p.request()
	p.to(10 * time.Second)
	require.Len(t, p.told, 1)
	assert.Equal(t, "observe", p.told[0].Mode)
}

// plugin is the shipped one, with one worker and one endpoint.
type plugin struct {
	t      *testing.T
	clock  *wasmhost.VirtualClock
	loaded *wasmhost.Plugin
	began  time.Duration
	told   []pluginlog.Block
}

func load(t *testing.T, configuration string) *plugin {
	t.Helper()
	p := &plugin{t: t, clock: wasmhost.NewVirtualClock(time.Hour, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	p.began = p.clock.Monotonic()
	var err error
	p.loaded, err = wasmhost.Load(t.Context(), wasmhost.Options{
		Wasm: plugintest.Wasm(t), Configuration: configuration, Workers: 1, Clock: p.clock, OnLog: p.read,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.loaded.Close(context.WithoutCancel(t.Context()))) })
	return p
}

func (p *plugin) read(line wasmhost.LogLine) {
	block, found, err := pluginlog.ParseBlock(line.Message)
	require.NoError(p.t, err)
	if found {
		p.told = append(p.told, block)
	}
}

// request is one that nobody answers.
func (p *plugin) request() {
	p.t.Helper()
	stream, err := p.loaded.Worker(0).NewStream(wasmhost.Route{
		Name: "llm", Cluster: cluster,
		Hosts: func() []wasmhost.Host { return []wasmhost.Host{{Address: endpoint, Health: "Healthy"}} },
	})
	require.NoError(p.t, err)
	_, err = stream.RequestHeaders(wasmhost.Headers{{":method", "GET"}, {":path", "/"}, {":authority", "llm"}, {":scheme", "http"}}, true)
	require.NoError(p.t, err)
	stream.SetUpstream(endpoint, 1)
}

// to moves the clock to a moment after the start, where a tick is due.
func (p *plugin) to(moment time.Duration) {
	p.t.Helper()
	p.clock.Advance(p.began + moment - p.clock.Monotonic())
	require.NoError(p.t, p.loaded.Worker(0).Tick())
}

func TestALineAboutSomethingElseIsNotFound(t *testing.T) {
	for _, message := range []string{
		"", "[endpoint-breaker] [nil] [1] endpoint-breaker config accepted version=0.1.0 mode=enforce",
		`endpoint-breaker bypass mode=enforce cluster="c": too few endpoints are left, Envoy balances over all`,
	} {
		_, found, err := pluginlog.ParseBlock(message)
		require.NoError(t, err)
		assert.False(t, found, message)
	}
}

func TestALineThatCannotBeReadIsAnErrorThatShowsIt(t *testing.T) {
	for message, says := range map[string]string{
		"endpoint-breaker block host=10.0.0.1:80":                                                                          `got "endpoint-breaker block host=10.0.0.1:80"`,
		`endpoint-breaker block mode=enforce cluster="a\q" endpoint=e for=4s strikes=1 reason=headers`:                     `cluster: got "a\q"`,
		`endpoint-breaker extend mode=enforce cluster="a" endpoint=e for=soon strikes=1 reason=headers`:                    `for: got "soon"`,
		`endpoint-breaker block mode=enforce cluster="a" endpoint=e for=4s strikes=99999999999999999999999 reason=headers`: `strikes: got "99999999999999999999999"`,
	} {
		_, found, err := pluginlog.ParseBlock(message)
		require.ErrorContains(t, err, says)
		assert.False(t, found)
	}
}
