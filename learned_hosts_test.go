//go:build envoy

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const otherCluster = "outbound|443||other.dns"

// roster is workers that learn hosts together.
type roster struct {
	t       *testing.T
	memory  *memory
	workers []*hostStore
}

func newRoster(t *testing.T, workers int) *roster {
	t.Helper()
	r := &roster{t: t, memory: newMemory()}
	fail := func(err error) { t.Error(err) }
	for range workers {
		r.workers = append(r.workers, newHostStore(r.memory, newBlockStore(r.memory, fail), fail))
	}
	return r
}

func (r *roster) see(worker int, endpoint string, second float64) {
	r.t.Helper()
	_, err := r.workers[worker].see(cluster, endpoint, at(second))
	require.NoError(r.t, err)
}

func (r *roster) drop(worker int, endpoint string, second float64) {
	r.t.Helper()
	_, err := r.workers[worker].drop(cluster, endpoint, at(second))
	require.NoError(r.t, err)
}

func (r *roster) block(e entry) {
	r.t.Helper()
	_, err := r.workers[0].blocks.update(e.Since, func(list *blocklist) (*blocklist, bool) {
		return list.with(e, e.Since, rememberExpired), true
	})
	require.NoError(r.t, err)
}

// known are the hosts that a worker would choose from.
func (r *roster) known(worker int, second float64) (addresses []string) {
	r.t.Helper()
	w := r.workers[worker]
	_, err := w.blocks.read(at(second)) // as every request does
	require.NoError(r.t, err)
	hosts, err := w.list(nil, cluster, false, at(second))
	require.NoError(r.t, err)
	for _, h := range hosts {
		assert.True(r.t, h.healthy, "nobody tells their health; Envoy passes over the ill ones")
		addresses = append(addresses, h.address)
	}
	return addresses
}

func (r *roster) knows(second float64, want ...string) {
	r.t.Helper()
	for worker := range r.workers {
		got := r.known(worker, second)
		assert.ElementsMatch(r.t, want, got, "worker %d at %gs", worker, second)
	}
}

func TestAHostThatAnsweredOneWorkerIsKnownToAll(t *testing.T) {
	r := newRoster(t, 3)
	r.see(0, hostA, 0)
	r.see(1, hostB, 0)
	r.knows(0, hostA, hostB)
}

func TestHostsBelongToTheirCluster(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostA, 0)
	_, err := r.workers[0].see(otherCluster, hostB, at(0))
	require.NoError(t, err)
	r.knows(0, hostA)
}

func TestAHostThatIsDroppedIsUnknownToAllUntilItAnswersAgain(t *testing.T) {
	r := newRoster(t, 2)
	r.see(0, hostA, 0)
	r.see(1, hostA, 0)
	r.drop(0, hostA, 1)
	r.knows(1)
	r.see(1, hostA, 2.5)
	r.knows(2.5, hostA)
}

func TestADropOfAHostThatNobodyKnowsWritesNothing(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostA, 0)
	sets := r.memory.sets
	r.drop(0, hostB, 1)
	assert.Equal(t, sets, r.memory.sets)
	r.knows(1, hostA)
}

func TestAHostThatHasNotAnsweredForTenMinutesIsForgotten(t *testing.T) {
	r := newRoster(t, 2)
	r.see(0, hostA, 0)
	r.knows(599.9, hostA)
	r.knows(600)
}

func TestAHostThatAnswersNowAndThenStaysKnown(t *testing.T) {
	r := newRoster(t, 2)
	for second := 0.0; second <= 3600; second += 250 {
		r.see(0, hostA, second)
		r.knows(second+249, hostA)
	}
}

func TestABlockedHostStaysKnownAsLongAsItsEntry(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostA, 0)
	r.block(blockOf(hostA, 100, 900))
	r.known(0, 699)
	r.see(0, hostB, 700)
	addresses := r.known(0, 700)
	assert.ElementsMatch(t, []string{hostA, hostB}, addresses, "700 s without an answer: it is not asked")
	addresses = r.known(0, 901)
	assert.ElementsMatch(t, []string{hostA, hostB}, addresses, "the block is over, the entry is a memory")
}

func TestAnObservedBlockKeepsAHostKnown(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostA, 0)
	observed := blockOf(hostA, 100, 900)
	observed.Observed = true
	r.block(observed)
	addresses := r.known(0, 700)
	assert.Equal(t, []string{hostA}, addresses)
}

// A host that hangs from its first request on is blocked before it has ever answered.
func TestABlockedHostThatNeverAnsweredIsOneOfTheHosts(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostB, 0)
	r.block(blockOf(hostA, 10, 55))
	addresses := r.known(0, 20)
	assert.ElementsMatch(t, []string{hostA, hostB}, addresses)
	r.knows(55, hostB)
}

func TestMostAnswersCostNoHostCall(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostA, 0)
	r.see(0, hostA, 0) // what was written is read once
	calls := r.memory.gets + r.memory.sets
	for i := range 1000 {
		r.see(0, hostA, float64(i)/1001)
	}
	assert.Equal(t, calls, r.memory.gets+r.memory.sets, "within a second")
	r.see(0, hostA, 1)
	assert.Equal(t, calls+1, r.memory.gets+r.memory.sets, "a second later: one look whether it is still there")
}

func TestWorkersThatMeetAHostAtOnceWriteItOnce(t *testing.T) {
	r := newRoster(t, 2)
	r.memory.beforeSet = func() { r.see(1, hostA, 0) }
	r.see(0, hostA, 0)
	assert.Equal(t, 2, r.memory.sets, "the one that lost finds it there")
	r.knows(0, hostA)
}

func TestTwoHostsMetAtOnceAreBothKept(t *testing.T) {
	r := newRoster(t, 2)
	r.memory.beforeSet = func() { r.see(1, hostB, 0) }
	r.see(0, hostA, 0)
	r.knows(0, hostA, hostB)
}

func TestAFailedStoreIsTheCallersError(t *testing.T) {
	r := newRoster(t, 1)
	r.see(0, hostA, 0)
	r.memory.failGet = errHost
	_, err := r.workers[0].see(cluster, hostB, at(5))
	require.ErrorIs(t, err, errHost)
	_, err = r.workers[0].list(nil, cluster, false, at(5))
	require.ErrorIs(t, err, errHost)
	r.memory.failGet = nil
	r.memory.failSet = errHost
	_, err = r.workers[0].see(cluster, hostB, at(7))
	require.ErrorIs(t, err, errHost)
	r.memory.failSet = nil
	r.knows(7, hostA)
}

func TestTheListIsReadableAndVersioned(t *testing.T) {
	list := newHostList([]learnedHost{{Cluster: cluster, Endpoint: hostA, Seen: at(0)}})
	assert.JSONEq(t, `{"version":1,"hosts":[{"cluster":"outbound|443||llm.dns","endpoint":"10.0.0.1:8000",`+
		`"seen":1000000000000}]}`, string(list.encode()))
	back, err := decodeHosts(list.encode(), at(0))
	require.NoError(t, err)
	assert.Equal(t, list, back)
}

func TestHostsThatMakeNoSenseAreDroppedAndTheOthersKept(t *testing.T) {
	good := learnedHost{Cluster: cluster, Endpoint: hostA, Seen: at(0)}
	for name, bad := range map[string]learnedHost{
		"no cluster":         {Endpoint: hostB, Seen: at(0)},
		"no endpoint":        {Cluster: cluster, Seen: at(0)},
		"never seen":         {Cluster: cluster, Endpoint: hostB},
		"seen in the future": {Cluster: cluster, Endpoint: hostB, Seen: at(602)},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := decodeHosts(newHostList([]learnedHost{bad, good}).encode(), at(1))
			require.EqualError(t, err, `learned hosts: 1 of 2 entries of "hosts" make no sense`)
			assert.Equal(t, []learnedHost{good}, list.hosts)
		})
	}
}

// Case B18: addresses that come and go.
func TestTheListIsBoundedAndBeyondThatNobodyIsLearned(t *testing.T) {
	r := newRoster(t, 1)
	var hosts []learnedHost
	for i := range mostHosts {
		hosts = append(hosts, learnedHost{cluster, fmt.Sprintf("10.0.%d.%d:80", i/256, i%256), at(float64(i) / 100)})
	}
	r.memory.put(hostsKey, newHostList(hosts).encode())
	r.see(0, hostA, 100)
	gets := r.memory.gets
	r.see(0, hostA, 100.5)
	assert.Equal(t, gets, r.memory.gets, "nor asked for again at each of its answers")
	assert.Zero(t, r.memory.sets)
	assert.Len(t, r.known(0, 100.5), mostHosts)
	r.see(0, hostA, 620)
	assert.Contains(t, r.known(0, 620), hostA, "the first ones were forgotten: there is room")
}

func TestAHostThatRequestsMissIsForgotten(t *testing.T) {
	a, b := hostKey{cluster, hostA}, hostKey{cluster, hostB}
	m := misses{}
	assert.True(t, m.enough(a, false), "Envoy would not take it")
	assert.False(t, m.enough(a, true), "a retry: it may have answered something that is retried")
	assert.False(t, m.enough(b, true), "each for itself")
	assert.True(t, m.enough(a, true), "twice in a row")
	assert.False(t, m.enough(a, true), "it was forgotten, and met again")
	m.forget(a)
	assert.False(t, m.enough(a, true), "it had one in between")
	for i := range mostHosts {
		m.enough(hostKey{cluster, fmt.Sprint(i)}, true)
	}
	assert.LessOrEqual(t, len(m), mostHosts)
}

func TestAddressesThatNobodyMeetsAnyMoreLeaveTheList(t *testing.T) {
	r := newRoster(t, 1)
	for i := range 500 {
		r.see(0, fmt.Sprintf("10.0.%d.%d:80", i/256, i%256), float64(i*10))
	}
	list, err := r.workers[0].read(at(5000))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(list.hosts), 61, "those of the last ten minutes")
}

func FuzzDecodeHosts(f *testing.F) {
	f.Add([]byte(`{"version":1,"hosts":[]}`), int64(boot))
	f.Add(newHostList([]learnedHost{{Cluster: cluster, Endpoint: hostA, Seen: at(0)}}).encode(), int64(at(1)))
	f.Fuzz(func(t *testing.T, value []byte, now int64) {
		list, err := decodeHosts(value, instant(now))
		require.NotNil(t, list)
		for _, h := range list.hosts {
			assert.True(t, h.valid(instant(now)))
		}
		if err == nil {
			again, err := decodeHosts(list.encode(), instant(now))
			require.NoError(t, err)
			assert.Equal(t, list, again)
		}
	})
}

// What several workers know together is what one list would hold that all events went to.
func TestWorkersTogetherKnowWhatOneListWould(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRoster(t, 3)
		want := map[string]instant{}
		second := 0.0
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			second += rapid.Float64Range(1, 200).Draw(rt, "pause")
			worker := rapid.IntRange(0, 2).Draw(rt, "worker")
			endpoint := rapid.SampledFrom([]string{hostA, hostB, hostC}).Draw(rt, "endpoint")
			if rapid.Bool().Draw(rt, "answers") {
				r.see(worker, endpoint, second)
				if at(second).since(want[endpoint]) >= refreshHostAfter {
					want[endpoint] = at(second)
				}
			} else {
				r.drop(worker, endpoint, second)
				delete(want, endpoint)
			}
			var known []string
			for endpoint, seen := range want {
				if at(second).since(seen) < forgetHostAfter {
					known = append(known, endpoint)
				}
			}
			reader := rapid.IntRange(0, 2).Draw(rt, "reader")
			got := r.known(reader, second)
			assert.ElementsMatch(rt, known, got)
			if rt.Failed() {
				return
			}
		}
	})
}
