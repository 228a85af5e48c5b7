package wasmhost

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The tests drive testdata/probe, a plugin that runs the scripts it is given.
// It is built here, so what is tested is what the toolchain makes today.
var probeModule *Module

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "wasmhost")
	if err != nil {
		panic(err)
	}
	// In the user's cache directory, since under the race detector compiling takes
	// half a minute.
	if probeModule, err = Compile(context.Background(), buildProbe(filepath.Join(dir, "probe.wasm")), ""); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = probeModule.Close(context.Background())
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

func buildProbe(target string) []byte {
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", target, "./testdata/probe")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if output, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build testdata/probe: %v\n%s", err, output))
	}
	wasm, err := os.ReadFile(target)
	if err != nil {
		panic(err)
	}
	return wasm
}

var wallStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// probe is a plugin under test with its log.
type probe struct {
	*Plugin
	t     *testing.T
	clock *VirtualClock

	mu    sync.Mutex
	lines []LogLine
}

// startProbe loads the probe with one worker and no faults, unless changed.
func startProbe(t *testing.T, change ...func(*Options)) *probe {
	t.Helper()
	p, options := newProbe(t, change...)
	plugin, err := Load(t.Context(), options)
	require.NoError(t, err)
	p.Plugin = plugin
	t.Cleanup(func() { require.NoError(t, plugin.Close(t.Context())) })
	return p
}

func newProbe(t *testing.T, change ...func(*Options)) (*probe, Options) {
	t.Helper()
	p := &probe{t: t, clock: NewVirtualClock(time.Minute, wallStart)}
	options := Options{
		Module: probeModule, Workers: 1, Clock: p.clock, Seed: 1, OnLog: p.hear,
		PluginName: "probe", RootID: "root",
	}
	for _, apply := range change {
		apply(&options)
	}
	return p, options
}

func (p *probe) hear(line LogLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

// heard hands out the log since the last call.
func (p *probe) heard() []LogLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.lines
	p.lines = nil
	return lines
}

// said hands out the messages of the log since the last call.
func (p *probe) said() []string {
	var messages []string
	for _, line := range p.heard() {
		messages = append(messages, line.Message)
	}
	return messages
}

// results hands out what the scripts' commands came to since the last call,
// without the commands.
func (p *probe) results() []string {
	var results []string
	for _, message := range p.said() {
		if _, result, found := strings.Cut(message, " -> "); found {
			results = append(results, result)
		}
	}
	return results
}

var testRoute = Route{Name: "route", Cluster: "outbound|443||llm.dns"}

// open begins a stream on worker 0.
func (p *probe) open() *Stream {
	p.t.Helper()
	s, err := p.Worker(0).NewStream(testRoute)
	require.NoError(p.t, err)
	return s
}

// request makes request headers with scripts: "do-request-headers", script, …
func request(scripts ...string) Headers {
	headers := Headers{
		{":method", "POST"},
		{":scheme", "https"},
		{":authority", "llm.example"},
		{":path", "/v1/chat?a=b"},
		{"content-type", "application/json"},
	}
	for i := 0; i < len(scripts); i += 2 {
		headers = append(headers, [2]string{scripts[i], scripts[i+1]})
	}
	return headers
}

func response() Headers { return Headers{{":status", "200"}, {"content-type", "text/plain"}} }

// run executes a script in a request headers callback of worker 0 and returns
// what its commands came to.
func (p *probe) run(script string) []string {
	p.t.Helper()
	s := p.open()
	p.said()
	flow, err := s.RequestHeaders(request("do-request-headers", script), true)
	require.NoError(p.t, err)
	require.Equal(p.t, FlowContinue, flow)
	results := p.results()
	require.NoError(p.t, s.Close())
	return results
}

// tickScript sets what the probe runs at each tick.
func (p *probe) tickScript(script string) {
	require.Equal(p.t, StatusOK, p.SharedData().Set("tick", []byte(script), 0))
}
