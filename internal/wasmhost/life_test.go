package wasmhost

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBaseVMStartsBeforeTheWorkers(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Workers = 2
		o.Configuration = "say hello"
	})
	var workers []int
	for _, line := range p.heard() {
		workers = append(workers, line.Worker)
	}
	assert.Equal(t, []int{BaseVM, 0, 1}, workers)
	assert.Equal(t, 2, p.Workers())
	assert.NotSame(t, p.Worker(0), p.Worker(1))
}

func TestTheBaseVMCanSeedSharedDataForTheWorkers(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "shared-get seed; shared-set seed x 7" })
	assert.Equal(t, []string{notFound, "ok", "x cas=1", "error: cas mismatch"}, p.results())
	assert.Equal(t, []string{"seed"}, p.SharedData().Keys())
}

func TestARefusedConfigurationFailsTheStartWithThePluginsWords(t *testing.T) {
	_, options := newProbe(t, func(o *Options) { o.Configuration = "say before; refuse key is wrong" })
	plugin, err := Load(t.Context(), options)
	assert.Nil(t, plugin)
	var refused *ConfigurationRefusedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, BaseVM, refused.Worker)
	assert.Len(t, refused.Lines, 2)
	assert.Equal(t, "the plugin refused its configuration: refused: key is wrong", err.Error())
}

func TestTicksRunInEveryVMThatAskedForThem(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 500" })
	assert.Equal(t, 500*time.Millisecond, p.Worker(0).TickPeriod())
	assert.Equal(t, 500*time.Millisecond, p.Base().TickPeriod())
	p.tickScript("say tock; ticks 0")
	require.NoError(t, p.Worker(0).Tick())
	assert.Equal(t, []string{"ok", "ok", "tock", "ok"}, p.results())
	assert.Zero(t, p.Worker(0).TickPeriod(), "0 ends them")
	require.NoError(t, p.Worker(0).Tick())
	assert.Empty(t, p.said())
}

func TestNoTicksUnlessAskedFor(t *testing.T) {
	p := startProbe(t)
	p.tickScript("say tock")
	assert.Zero(t, p.Worker(0).TickPeriod())
	require.NoError(t, p.Worker(0).Tick())
	assert.Empty(t, p.said())
}

func TestATickCanActForAStream(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100" })
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request(), true))
	s.SetUpstream("10.0.0.1:8000", 1)
	p.said()
	require.Equal(t, uint32(2), s.ID())
	p.tickScript("property upstream.address; effective 2; property upstream.address; property upstream.request_attempt_count")
	require.NoError(t, p.Worker(0).Tick())
	assert.Equal(t, []string{notFound, "ok", `"10.0.0.1:8000"`, integer(1)}, p.results())

	p.tickScript("property upstream.address")
	require.NoError(t, p.Worker(0).Tick())
	assert.Equal(t, []string{notFound}, p.results(), "only until the callback returns")

	require.NoError(t, s.Close())
	p.said()
	p.tickScript("effective 2; property upstream.address")
	require.NoError(t, p.Worker(0).Tick())
	assert.Equal(t, []string{"error: bad argument", notFound}, p.results(), "gone with proxy_on_delete")
}

func TestAStreamIsUnknownUntilItsRequestHeaders(t *testing.T) {
	p := startProbe(t)
	waiting := p.open()
	defer closeStreamOf(t, waiting)
	require.Equal(t, uint32(2), waiting.ID())
	assert.Equal(t, []string{"error: bad argument"}, p.run("effective 2"))
}

func TestAnIDOfAnotherWorkerIsUnknown(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Workers = 2 })
	first := p.open()
	defer closeStreamOf(t, first)
	flowOf(t, FlowContinue)(first.RequestHeaders(request(), true))
	p.said()
	second, err := p.Worker(1).NewStream(testRoute)
	require.NoError(t, err)
	defer closeStreamOf(t, second)
	flowOf(t, FlowContinue)(second.RequestHeaders(request("do-request-headers", "effective 3"), true))
	assert.Equal(t, []string{"error: bad argument"}, p.results())
}

func TestAnOldConfigurationServesItsStreamsToTheirEnd(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "ticks 100; shared-set tick say 0" })
	w := p.Worker(0)
	old := p.open()
	flowOf(t, FlowContinue)(old.RequestHeaders(request(), false))
	require.NoError(t, p.Reconfigure(t.Context(), "ticks 200"))
	assert.Equal(t, 2, w.PluginContexts())
	assert.Equal(t, 1, p.Base().PluginContexts(), "without streams the old one ends at once")
	assert.Equal(t, 100*time.Millisecond, w.TickPeriod())

	fresh := p.open()
	flowOf(t, FlowContinue)(fresh.RequestHeaders(request(), true))
	p.said()
	require.NoError(t, w.Tick())
	assert.Equal(t, []string{"tick of context 1", "say -> ", "tick of context 3", "say -> "}, p.said(), "both tick")
	flowOf(t, FlowContinue)(old.RequestData([]byte("x"), true))
	require.NoError(t, fresh.Close())
	assert.Contains(t, p.said(), "stream done under context 3")
	require.NoError(t, old.Close())
	assert.Equal(t, []string{"stream done under context 1", "done of context 1"}, p.said())
	assert.Equal(t, 1, w.PluginContexts())
	assert.Equal(t, 200*time.Millisecond, w.TickPeriod())
}

func TestARefusedReconfigurationLeavesTheOldOneServing(t *testing.T) {
	p := startProbe(t)
	err := p.Reconfigure(t.Context(), "ticks 100; refuse no")
	var refused *ConfigurationRefusedError
	require.ErrorAs(t, err, &refused)
	for _, w := range []*Worker{p.Base(), p.Worker(0)} {
		assert.Equal(t, 1, w.PluginContexts())
		assert.Zero(t, w.TickPeriod())
	}
	p.said()
	assert.Equal(t, []string{"still here"}, p.run("say still here"))
}

func TestAReconfigurationThatOneWorkerRefusesIsUndoneEverywhere(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Workers = 2
		o.Faults = NewFaults(func(call HostCall) Fault {
			if call.Worker == 1 && call.Name == "proxy_get_buffer_bytes" && call.Count == 2 {
				return Fault{Replace: func([]byte) []byte { return []byte("refuse here") }}
			}
			return Fault{}
		})
	})
	var refused *ConfigurationRefusedError
	require.ErrorAs(t, p.Reconfigure(t.Context(), "ticks 100"), &refused)
	assert.Equal(t, 1, refused.Worker)
	for _, w := range []*Worker{p.Base(), p.Worker(0), p.Worker(1)} {
		assert.Equal(t, 1, w.PluginContexts())
		assert.Zero(t, w.TickPeriod())
	}
}

func TestAPluginContextThatIsNotDoneYetStaysUntilItSaysSo(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Configuration = "keep; ticks 100" })
	w := p.Worker(0)
	require.NoError(t, p.Reconfigure(t.Context(), ""))
	assert.Equal(t, 2, w.PluginContexts())
	p.tickScript("finish")
	require.NoError(t, w.Tick())
	assert.Equal(t, 1, w.PluginContexts())
	assert.Equal(t, uint32(2), w.serving.id)
}

func TestCallsAreCountedByName(t *testing.T) {
	p := startProbe(t)
	p.run("shared-get a; shared-get b")
	calls := p.Worker(0).Calls()
	assert.Equal(t, uint64(2), calls["proxy_get_shared_data"])
	assert.NotContains(t, calls, "proxy_set_shared_data")
	assert.NotContains(t, p.Base().Calls(), "proxy_get_shared_data")
	assert.Positive(t, p.Worker(0).MemoryBytes())
}

func TestMetricsBelongToAllVMs(t *testing.T) {
	p := startProbe(t, func(o *Options) {
		o.Configuration = "metric-define counter b; metric-define gauge a; metric-increment b 2; metric-record a 5"
	})
	assert.Equal(t, int64(4), p.Metric("b"), "base VM and worker")
	assert.Zero(t, p.Metric("absent"))
	assert.Equal(t, []Metric{{Name: "a", Type: Gauge, Value: 5}, {Name: "b", Type: Counter, Value: 4}}, p.Metrics())
}

func TestOptionsThatCannotWorkAreNamed(t *testing.T) {
	tooHigh := LogLevel(9)
	for want, spoil := range map[string]func(*Options){
		"Options.Wasm":     func(o *Options) { o.Module = nil },
		"Options.Clock":    func(o *Options) { o.Clock = nil },
		"Options.Workers":  func(o *Options) { o.Workers = 0 },
		"Options.LogLevel": func(o *Options) { o.LogLevel = &tooHigh },
	} {
		_, options := newProbe(t, spoil)
		_, err := Load(t.Context(), options)
		require.ErrorContains(t, err, want)
	}
}

func TestTheLogLevelHidesWhatIsBelowIt(t *testing.T) {
	level := LogWarn
	p := startProbe(t, func(o *Options) { o.LogLevel = &level })
	p.run("foreign get_log_level; log 3 heard; log 2 hidden")
	assert.Empty(t, p.said())
	s := p.open()
	flowOf(t, FlowContinue)(s.RequestHeaders(request("do-request-headers", "log 3 heard; log 2 hidden"), true))
	require.NoError(t, s.Close())
	assert.Equal(t, []string{"heard"}, p.said())
}

func TestTheModulesOwnStartMayCallTheHost(t *testing.T) {
	p := startProbe(t, func(o *Options) { o.Env = map[string]string{"INIT": "say early; shared-set k v"} })
	assert.Equal(t, []string{"early", "ok", "early", "ok"}, p.results(), "base VM and worker")
	assert.Equal(t, []string{"v cas=2"}, p.run("shared-get k"))
}

func TestClosingThePluginClosesItsOpenStreams(t *testing.T) {
	p, options := newProbe(t)
	plugin, err := Load(t.Context(), options)
	require.NoError(t, err)
	s, err := plugin.Worker(0).NewStream(testRoute)
	require.NoError(t, err)
	flowOf(t, FlowContinue)(s.RequestHeaders(request(), false))
	p.said()
	require.NoError(t, plugin.Close(t.Context()))
	assert.Equal(t, []string{"done of context 1", "stream done under context 1", "done of context 1"}, p.said(), "the base VM first, and a stream before its plugin context")
	_, err = s.RequestData(nil, true)
	require.ErrorContains(t, err, "closed=true")
}
