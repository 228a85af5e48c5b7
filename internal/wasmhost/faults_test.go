package wasmhost

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func withFaults(rules ...FaultRule) func(*Options) {
	return func(o *Options) { o.Faults = NewFaults(rules...) }
}

func TestAnyHostCallCanAnswerAChosenStatus(t *testing.T) {
	p := startProbe(t, withFaults(
		FailCall("proxy_get_property", StatusInternalFailure),
		FailCall("proxy_set_shared_data", StatusCasMismatch),
	))
	assert.Equal(t, []string{"error: internal failure", "error: cas mismatch", "error: not found"},
		p.run("property route_name; shared-set k v; shared-get k"), "the call itself is not made")
}

func TestACallCanTakeEffectAndStillFail(t *testing.T) {
	p := startProbe(t, withFaults(func(call HostCall) Fault {
		if call.Name != "proxy_set_shared_data" {
			return Fault{}
		}
		return Fault{Status: StatusInternalFailure, KeepEffect: true}
	}))
	assert.Equal(t, []string{"error: internal failure", "v cas=1"}, p.run("shared-set k v; shared-get k"))
}

func TestAnotherWorkerCanWriteBetweenGetAndSet(t *testing.T) {
	faults := NewFaults()
	p := startProbe(t, func(o *Options) {
		o.Workers = 2
		o.Faults = faults
	})
	require.Equal(t, StatusOK, p.SharedData().Set("count", []byte("0"), 0))
	other, err := p.Worker(1).NewStream(testRoute)
	require.NoError(t, err)
	defer closeStreamOf(t, other)
	once := false
	faults.Add(BeforeCall("proxy_set_shared_data", func(call HostCall) {
		if call.Worker != 0 || once {
			return
		}
		once = true
		flowOf(t, FlowContinue)(other.RequestHeaders(request("do-request-headers", "shared-add count"), true))
	}))
	assert.Equal(t, []string{"1 after 0 retries", "2 after 1 retries"}, p.run("shared-add count"))
}

func TestACallCanHandOutJunk(t *testing.T) {
	p := startProbe(t, withFaults(
		ReplaceBytes("proxy_get_shared_data", []byte("{junk")),
		ReplaceBytes("proxy_get_property", nil),
	))
	require.Equal(t, StatusOK, p.SharedData().Set("k", []byte("good"), 0))
	assert.Equal(t, []string{"{junk cas=1", `""`}, p.run("shared-get k; property route_name"))
}

func TestACallbackCanTrapOnDemand(t *testing.T) {
	for _, name := range []string{"proxy_on_request_headers", "proxy_log"} {
		p := startProbe(t, withFaults(TrapIn(0, name)))
		s := p.open()
		flowOf(t, FlowContinue)(s.RequestHeaders(request(), true))
		require.NoError(t, s.Close())
		var demanded onDemandError
		require.ErrorAs(t, p.Worker(0).Trapped(), &demanded)
		assert.Equal(t, "trap on demand in "+name, demanded.Error())
		require.NoError(t, p.Base().Trapped())
	}
}

func TestTheWallClockCanJumpInTheMiddleOfACallback(t *testing.T) {
	faults := NewFaults()
	p := startProbe(t, func(o *Options) { o.Faults = faults })
	faults.Add(BeforeCall("proxy_get_shared_data", func(HostCall) { p.clock.JumpWall(-time.Hour) }))
	assert.Equal(t, []string{
		"monotonic=60000000000 wall=1767323045000000000", notFound,
		"monotonic=60000000000 wall=1767319445000000000",
	}, p.run("clock; shared-get k; clock"))
}

func TestARuleSeesWhoCallsWhatAndWhen(t *testing.T) {
	faults := NewFaults()
	p := startProbe(t, func(o *Options) { o.Faults = faults })
	var seen []HostCall
	remove := faults.Add(func(call HostCall) Fault {
		if call.Name != "proxy_log" {
			seen = append(seen, call)
		}
		return Fault{}
	})
	p.run("property upstream.address")
	const phase = "proxy_on_request_headers"
	assert.Equal(t, []HostCall{
		{Name: "proxy_on_context_create", Count: 2, Phase: "proxy_on_context_create", Context: 2},
		{Name: phase, Count: 1, Phase: phase, Context: 2},
		{Name: "proxy_get_header_map_pairs", Count: 1, Phase: phase, Context: 2},
		{Name: "proxy_get_property", Count: 1, Phase: phase, Context: 2, Argument: "upstream.address"},
	}, seen[:4])
	remove()
	seen = nil
	p.run("property upstream.address")
	assert.Empty(t, seen)
}

func TestATrapOnDemandStrikesItsWorkerOnly(t *testing.T) {
	p := startProbe(t, withFaults(TrapIn(1, "proxy_on_request_headers")), func(o *Options) { o.Workers = 2 })
	for i := range 2 {
		s, err := p.Worker(i).NewStream(testRoute)
		require.NoError(t, err)
		flowOf(t, FlowContinue)(s.RequestHeaders(request(), true))
		require.NoError(t, s.Close())
	}
	require.NoError(t, p.Worker(0).Trapped())
	require.Error(t, p.Worker(1).Trapped())
}
