package shipped

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/wasmhost"
)

// B02: see cases_test.go of the algorithm; here with streams that really are in flight.
func TestCaseB02OldRequestsDoNotBlockARecoveredEndpoint(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	var calls []*call
	for second := 0.0; second <= 50; second += 5 {
		w.to(second)
		calls = append(calls, w.sendTo(0, hostA))
	}
	for i, c := range calls {
		w.to(80 + float64(i)*5)
		c.answer()
	}
	w.to(134.9)
	assert.Equal(t, map[string]float64{hostA: 135}, w.blocked())
	w.to(135)
	assert.Empty(t, w.blocked())
	assert.EqualValues(t, 3, w.metric("samples"))
	assert.EqualValues(t, 8, w.metric("samples_stale"))
	assert.EqualValues(t, 1, w.metric("blocks_enforced"))
}

// B07: everything is blocked and the gateway answers 503. (istio 20135)
func TestCaseB07AllBlockedIsAsIfNoneWas(t *testing.T) {
	w := start(t, threeConfirmations, 2)
	w.slow(late{hostA, 80}, late{hostA, 85}, late{hostA, 90},
		late{hostB, 85}, late{hostB, 90}, late{hostB, 95},
		late{hostC, 90}, late{hostC, 95}, late{hostC, 100})
	w.to(101)
	require.Len(t, w.blocked(), 3)
	used := map[string]int{}
	for i := range 300 {
		c := w.send(i % 2)
		require.Nil(t, c.LocalReply())
		require.Empty(t, c.OverrideHost(), "no override while all are blocked")
		used[c.endpoint]++
		c.answer()
	}
	assert.Equal(t, map[string]int{hostA: 100, hostB: 100, hostC: 100}, used)
	assert.EqualValues(t, 300, w.metric("bypasses_enforced"))
	assert.Len(t, w.logged("endpoint-breaker bypass"), 2, "one line in ten seconds and worker, not 300")

	w.to(136)
	used = map[string]int{}
	for range 30 {
		c := w.send(0)
		used[c.endpoint]++
		c.answer()
	}
	assert.Equal(t, map[string]int{hostA: 30}, used, "A is free since 135")
	w.to(146)
	for range 30 {
		c := w.send(0)
		used[c.endpoint]++
		c.answer()
	}
	assert.Equal(t, map[string]int{hostA: 40, hostB: 10, hostC: 10}, used)
}

// B08: sixteen workers that block another endpoint each at the same instant.
func TestCaseB08SixteenWorkersLoseNothing(t *testing.T) {
	const workers = 16
	w := start(t, `{"confirm_count": 1, "check_interval": "0s"}`, workers)
	w.hosts = nil
	for i := range workers {
		w.hosts = append(w.hosts, wasmhost.Host{Address: fmt.Sprintf("10.0.1.%d:8000", i)})
	}
	var calls []*call
	for i := range workers {
		calls = append(calls, w.sendTo(i, w.hosts[i].Address))
	}
	w.to(75)
	next := 1 // each worker's set is preceded by the whole of the next worker's
	w.faults.Add(wasmhost.BeforeCall("proxy_set_shared_data", func(wasmhost.HostCall) {
		if next < workers {
			next++
			calls[next-1].answer()
		}
	}))
	calls[0].answer()
	assert.Len(t, w.blocked(), workers)
	assert.EqualValues(t, workers, w.metric("blocks_enforced"))
	assert.Positive(t, w.total("cas_conflicts"))
	assert.Zero(t, w.total("cas_give_ups"))
}

func TestCaseB08AStoreThatAlwaysMismatchesDoesNotStallTheRequest(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	w.slow(late{hostA, 80}, late{hostA, 85})
	remove := w.faults.Add(wasmhost.FailCall("proxy_set_shared_data", wasmhost.StatusCasMismatch))
	c := w.sendTo(0, hostA)
	d := w.sendTo(0, hostA)
	w.to(160)
	c.answer()
	assert.Empty(t, w.blocked())
	assert.EqualValues(t, 1, w.total("cas_give_ups"))
	assert.EqualValues(t, 11, w.total("cas_conflicts"))
	assert.Len(t, w.logged("endpoint-breaker error", "gave up after 10 CAS retries"), 1)
	remove()
	w.to(165)
	d.answer()
	assert.Contains(t, w.blocked(), hostA, "the next counted sample writes the block")
}

// B09: other workers keep using the blocked host for seconds. (LiteLLM 34836)
func TestCaseB09EveryWorkerSeesABlockAtItsNextRequest(t *testing.T) {
	w := start(t, threeConfirmations, 8)
	for worker := 1; worker < 8; worker++ {
		w.send(worker).answer() // each has read the list before
	}
	w.block(hostA)
	w.to(90.001)
	for worker := 1; worker < 8; worker++ {
		for range 3 {
			c := w.sendTo(worker, hostA)
			assert.NotEqual(t, hostA, c.endpoint, "worker %d", worker)
			c.answer()
		}
	}
}

// B10: a host list that is rebuilt lets a blocked host back in. (istio 8673)
func TestCaseB10ABlockHoldsWhenTheHostListIsRebuilt(t *testing.T) {
	w := start(t, threeConfirmations, 1)
	w.block(hostA)
	a, b, c := w.hosts[0], w.hosts[1], w.hosts[2]
	d := wasmhost.Host{Address: "10.0.0.4:8000", Health: "Healthy"}
	for _, step := range []struct {
		second float64
		hosts  []wasmhost.Host
	}{
		{100, []wasmhost.Host{a, b, c, d}},
		{105, []wasmhost.Host{d, c, b, a}},
		{112, []wasmhost.Host{b, c, d, a}},
		{134.9, []wasmhost.Host{b, c, d, a}},
	} {
		w.to(step.second)
		w.hosts = step.hosts
		used := map[string]int{}
		for range 9 {
			c := w.send(0)
			used[c.endpoint]++
			c.answer()
		}
		assert.Equal(t, map[string]int{hostB: 3, hostC: 3, d.Address: 3}, used, "at %g", step.second)
	}
	w.to(135)
	assert.Equal(t, hostA, w.sendTo(0, hostA).endpoint)
}

// B19: addresses are cut at the wrong colon. (apisix 13666)
func TestCaseB19IPv6AddressesAreBlockedAndOverriddenWhole(t *testing.T) {
	const one, other = "[fd00::1]:8000", "[fd00::1]:8001"
	w := start(t, threeConfirmations, 1)
	w.hosts = []wasmhost.Host{{Address: one, Health: "Healthy"}, {Address: other, Health: "Healthy"}}
	w.block(one)
	assert.Equal(t, map[string]float64{one: 135}, w.blocked())
	for range 4 {
		assert.Equal(t, other, w.send(0).OverrideHost())
	}
}
