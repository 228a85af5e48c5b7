package shipped

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// B17: one bad host call traps the VM and takes the gateway down. (higress 3816)
//
// Each host call that the plugin makes on the data path and in ticks fails, returns nothing,
// or returns junk, while an endpoint is blocked and a request is past its threshold: requests
// go on, nothing traps, and when the fault is gone the breaker still works.

// dataPath is what the plugin calls outside its start.
var dataPath = []string{
	"proxy_get_shared_data",
	"proxy_set_shared_data",
	"proxy_get_property",
	"proxy_set_property",
	"proxy_get_header_map_value",
	"proxy_get_upstream_hosts",
	"proxy_set_upstream_override_host",
	"proxy_set_effective_context",
	"proxy_define_metric",
	"proxy_increment_metric",
	"proxy_call_foreign_function",
	"proxy_log",
}

func TestCaseB17AHostCallThatFailsLetsTheRequestPass(t *testing.T) {
	for _, name := range dataPath {
		for _, status := range []wasmhost.Status{
			wasmhost.StatusNotFound, wasmhost.StatusBadArgument, wasmhost.StatusEmpty,
			wasmhost.StatusCasMismatch, wasmhost.StatusInternalFailure, wasmhost.StatusUnimplemented, 99,
		} {
			t.Run(fmt.Sprintf("%s answers %d", name, status), func(t *testing.T) {
				survives(t, wasmhost.FailCall(name, status))
			})
		}
	}
}

func TestCaseB17AHostCallThatReturnsJunkLetsTheRequestPass(t *testing.T) {
	for _, name := range dataPath {
		for kind, junk := range map[string][]byte{
			"nothing":         {},
			"one byte":        {0xff},
			"garbage":         []byte("\xff\xff\xff\x7f garbage \x00\x01\x02\x03"),
			"a huge map":      {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
			"a map cut short": {1, 0, 0, 0, 0xff, 0xff, 0, 0},
		} {
			t.Run(name+" returns "+kind, func(t *testing.T) {
				survives(t, wasmhost.ReplaceBytes(name, junk))
			})
		}
	}
}

// survives runs traffic through a fault and checks that the breaker works after it.
func survives(t *testing.T, fault wasmhost.FaultRule) {
	t.Helper()
	w := start(t, `{"slow_threshold": "10s", "confirm_count": 1}`, 1)
	first := w.sendTo(0, hostA)
	w.to(11)
	require.Contains(t, w.blocked(), hostA)
	first.answer()
	overdue := w.sendTo(0, hostB)

	remove := w.faults.Add(fault)
	w.to(30)
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		c := w.send(0)
		assert.Nil(t, c.LocalReply())
		c.answerAs(contentType)
	}
	late := w.send(0)
	w.to(45)
	late.answer()
	overdue.answer()
	remove()

	require.NoError(t, w.plugin.Worker(0).Trapped())
	w.to(1000)
	again := w.sendTo(0, hostA)
	w.to(1011)
	again.answer()
	assert.Contains(t, w.blocked(), hostA, "the breaker works again")
	assert.NotEqual(t, hostA, w.sendTo(0, hostA).endpoint)
}

func TestCaseB17AClockThatStandsStillLetsRequestsPass(t *testing.T) {
	w := start(t, `{}`, 1)
	for range 20 {
		c := w.send(0)
		w.tick()
		c.answer()
	}
	assert.Zero(t, w.metric("samples"))
	assert.NoError(t, w.plugin.Worker(0).Trapped())
}

func TestFailedHostCallsAreCountedAndLoggedOnce(t *testing.T) {
	w := start(t, `{}`, 1)
	w.faults.Add(wasmhost.FailCall("proxy_get_shared_data", wasmhost.StatusInternalFailure))
	for range 10 {
		w.send(0).answer()
	}
	assert.EqualValues(t, 10, w.total("host_call_errors"))
	assert.Len(t, w.logged("endpoint-breaker error", "endpoint-breaker.blocklist"), 1)
}

func TestADamagedBlocklistIsEmptyCountedAndReplaced(t *testing.T) {
	w := start(t, `{"confirm_count": 1, "check_interval": "0s"}`, 1)
	w.plugin.SharedData().Set(blocklist.Key, []byte("garbage"), 0)
	w.send(0).answer()
	assert.EqualValues(t, 1, w.total("shared_data_damaged"))
	assert.Len(t, w.logged("endpoint-breaker error", "treated as empty"), 1)
	c := w.sendTo(0, hostA)
	w.to(75)
	c.answer()
	assert.Contains(t, w.blocked(), hostA)
}

func TestAWallClockJumpChangesNothing(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, time.Hour, 365 * 24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			w := start(t, `{}`, 1)
			w.to(0.1)
			first := w.sendTo(0, hostA)
			w.to(6)
			second := w.sendTo(0, hostA)
			w.clock.JumpWall(jump)
			w.to(76.5)
			assert.Contains(t, w.blocked(), hostA)
			w.clock.JumpWall(-jump)
			w.to(120.9)
			assert.Contains(t, w.blocked(), hostA)
			w.to(121)
			assert.Empty(t, w.blocked())
			first.done()
			second.done()
		})
	}
}

// once fails the call the first time it is made from now on.
func once(name, argument string) wasmhost.FaultRule {
	done := false
	return func(call wasmhost.HostCall) wasmhost.Fault {
		if done || call.Name != name || call.Argument != argument {
			return wasmhost.Fault{}
		}
		done = true
		return wasmhost.Fault{Status: wasmhost.StatusInternalFailure}
	}
}

func TestALookThatFailsIsRepeated(t *testing.T) {
	for _, fault := range []wasmhost.FaultRule{
		once("proxy_set_effective_context", ""),
		once("proxy_get_property", "upstream.address"),
		once("proxy_get_property", "upstream.request_attempt_count"),
		once("proxy_get_property", "cluster_name"),
	} {
		w := start(t, `{}`, 1)
		c := w.sendTo(0, hostA)
		w.to(69)
		w.faults.Add(fault)
		w.to(70)
		assert.Zero(t, w.metric("samples"))
		assert.EqualValues(t, 1, w.total("host_call_errors"))
		w.to(71)
		assert.EqualValues(t, 1, w.metric("samples"))
		c.done()
	}
}

func TestAnOverrideThatFailsNeitherCountsNorHolds(t *testing.T) {
	w := blockedWorld(t, threeConfirmations)
	w.faults.Add(wasmhost.FailCall("proxy_set_upstream_override_host", wasmhost.StatusInternalFailure))
	c := w.stream(0)
	flow, err := c.RequestHeaders(post, false)
	require.NoError(t, err)
	assert.Equal(t, wasmhost.FlowContinue, flow)
	assert.EqualValues(t, 1, w.total("host_call_errors"))
	assert.Zero(t, w.metric("overrides_enforced"))
	c.done()
}

func TestEveryFailedHostCallIsCounted(t *testing.T) {
	for _, test := range []struct{ call, argument string }{
		{"proxy_get_shared_data", "endpoint-breaker.blocklist"},
		{"proxy_get_property", "cluster_name"},
		{"proxy_get_upstream_hosts", ""},
		{"proxy_set_upstream_override_host", ""},
		{"proxy_get_header_map_value", "expect"},
		{"proxy_get_header_map_value", "upgrade"},
	} {
		t.Run(test.call+" "+test.argument, func(t *testing.T) {
			w := blockedWorld(t, threeConfirmations)
			w.faults.Add(func(call wasmhost.HostCall) wasmhost.Fault {
				if call.Name == test.call && (test.argument == "" || call.Argument == test.argument) && w.armed {
					return wasmhost.Fault{Status: wasmhost.StatusInternalFailure}
				}
				return wasmhost.Fault{}
			})
			c := w.stream(0)
			w.armed = true
			flow, err := c.RequestHeaders(post, false)
			w.armed = false
			require.NoError(t, err)
			assert.Equal(t, wasmhost.FlowContinue, flow)
			assert.Positive(t, w.total("host_call_errors"))
			c.done()
		})
	}
}

func TestAFailedSeedIsCountedAndTheFirstBlockSeeds(t *testing.T) {
	w := start(t, `{"confirm_count": 1, "check_interval": "0s"}`, 1,
		withFault(wasmhost.FailCall("proxy_set_shared_data", wasmhost.StatusCasMismatch)))
	assert.EqualValues(t, 2, w.total("cas_give_ups"), "the base VM's and the worker's")
	assert.Zero(t, w.total("host_call_errors"))
	w.removeFault()
	c := w.sendTo(0, hostA)
	w.to(75)
	c.answer()
	assert.Contains(t, w.blocked(), hostA)
}

func TestCaseB17AClockThatGivesZeroStartsNothing(t *testing.T) {
	clock := &brokenClock{}
	w := start(t, `{"check_interval": "0s"}`, 1, withClock(clock))
	clock.broken = true
	for range 5 {
		c := w.send(0)
		w.tick()
		c.answer()
	}
	hanging := w.sendTo(0, hostA)
	uploading := w.stream(0)
	clock.broken = false
	_, err := uploading.RequestHeaders(post, false)
	require.NoError(t, err)
	uploading.SetUpstream(hostA, 1)
	clock.broken = true
	_, err = uploading.RequestData(nil, true)
	require.NoError(t, err)
	clock.broken = false
	w.to(100)
	hanging.answer()
	uploading.answer()
	assert.Zero(t, w.metric("samples"), "an unknown start")
	assert.Zero(t, w.total("panics"))
	later := w.sendTo(0, hostA)
	w.to(170)
	later.answer()
	assert.EqualValues(t, 1, w.metric("samples"), "now it can be read")
}
