package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newTestStore(m sharedData) (store *blockStore, damage *[]error) {
	damage = &[]error{}
	return newBlockStore(m, func(err error) { *damage = append(*damage, err) }), damage
}

func blockOf(endpoint string, since, until float64) entry {
	return entry{Cluster: cluster, Endpoint: endpoint, Since: at(since), Until: at(until), Strikes: 1, Reason: reasonHeaders}
}

func TestSeedPutsAnEmptyListWhereNoneIs(t *testing.T) {
	m := newMemory()
	store, _ := newTestStore(m)
	_, err := store.seed(at(0), time.Minute)
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":1,"blocks":[]}`, string(m.values[blocklistKey]))
	_, err = store.seed(at(1), time.Minute)
	require.NoError(t, err)
	assert.Equal(t, 1, m.sets, "a sound list is left alone")
}

func TestSeedShortensTheBlocksOfAnEarlierConfiguration(t *testing.T) {
	m := newMemory()
	m.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 0, 600), blockOf(hostB, 0, 30)}, nil).encode())
	store, _ := newTestStore(m)
	_, err := store.seed(at(10), 45*time.Second)
	require.NoError(t, err)
	list, err := store.read(at(10))
	require.NoError(t, err)
	assert.Equal(t, []entry{blockOf(hostA, 0, 55), blockOf(hostB, 0, 30)}, list.entries)
}

func TestSeedReplacesADamagedList(t *testing.T) {
	m := newMemory()
	m.put(blocklistKey, []byte("garbage"))
	store, damage := newTestStore(m)
	_, err := store.seed(at(0), time.Minute)
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":1,"blocks":[]}`, string(m.values[blocklistKey]))
	assert.Len(t, *damage, 1, "told once")
}

func TestAReadParsesOnlyWhatHasChanged(t *testing.T) {
	m := newMemory()
	m.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil).encode())
	store, _ := newTestStore(m)
	first, err := store.read(at(1))
	require.NoError(t, err)
	again, err := store.read(at(2))
	require.NoError(t, err)
	assert.Same(t, first, again)
	m.put(blocklistKey, newBlocklist([]entry{blockOf(hostB, 0, 45)}, nil).encode())
	changed, err := store.read(at(3))
	require.NoError(t, err)
	assert.Equal(t, hostB, changed.entries[0].Endpoint)
	assert.Equal(t, 3, m.gets)
}

func TestADamagedListIsEmptyAndToldOnce(t *testing.T) {
	m := newMemory()
	m.put(blocklistKey, []byte(`{"version":2,"blocks":[]}`))
	store, damage := newTestStore(m)
	for second := range 3 {
		list, err := store.read(at(float64(second)))
		require.NoError(t, err)
		assert.Empty(t, list.entries)
	}
	require.Len(t, *damage, 1)
	assert.EqualError(t, (*damage)[0], "blocklist: got version 2, want 1")
}

func TestAListThatHasVanishedIsEmpty(t *testing.T) {
	m := newMemory()
	m.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil).encode())
	store, _ := newTestStore(m)
	_, err := store.read(at(1))
	require.NoError(t, err)
	delete(m.values, blocklistKey)
	list, err := store.read(at(2))
	require.NoError(t, err)
	assert.Empty(t, list.entries)
}

func TestAFailedReadReturnsTheLastListKnown(t *testing.T) {
	m := newMemory()
	m.put(blocklistKey, newBlocklist([]entry{blockOf(hostA, 0, 45)}, nil).encode())
	store, _ := newTestStore(m)
	known, err := store.read(at(1))
	require.NoError(t, err)
	m.failGet = errHost
	list, err := store.read(at(2))
	require.ErrorIs(t, err, errHost)
	assert.Same(t, known, list)
	_, err = store.update(at(2), func(*blocklist) (*blocklist, bool) { t.Fatal("nothing to change"); return nil, false })
	require.ErrorIs(t, err, errHost)
}

// Two first writers on a missing key: neither entry is lost, although a set on a missing key
// always succeeds.
func TestTwoFirstWritersLoseNothing(t *testing.T) {
	m := newMemory()
	one, _ := newTestStore(m)
	two, _ := newTestStore(m)
	add := func(store *blockStore, e entry) (int, error) {
		return store.update(at(1), func(list *blocklist) (*blocklist, bool) { return list.with(e, at(1), rememberExpired), true })
	}
	m.beforeSet = func() {
		_, err := add(two, blockOf(hostB, 1, 46))
		require.NoError(t, err)
	}
	conflicts, err := add(one, blockOf(hostA, 1, 46))
	require.NoError(t, err)
	assert.Equal(t, 1, conflicts)
	list, err := one.read(at(1))
	require.NoError(t, err)
	assert.Len(t, list.entries, 2)
}

// Whatever the interleaving of the workers' gets and sets, no block that was written is gone
// or shorter before its time, each strike is one block that somebody wrote, and each sample that
// was counted for all workers is there until a block uses it up.
func TestNoInterleavingLosesOrShortensWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newInterleaving(rt)
		for w.step() {
			w.check()
		}
	})
}

// interleaving runs workers on goroutines that hold at every host call until the schedule,
// drawn by rapid, lets them go on: exactly one runs at a time.
type interleaving struct {
	rt      *rapid.T
	memory  *memory
	now     instant
	held    []*heldWorker
	rule    *rule
	longest map[string]instant // the model: the furthest until written, by endpoint
	blocks  map[string]int     // and how often it was blocked
	counted map[string]int     // and how many samples were counted since
	gaveUp  bool               // then one outcome may stand for several samples
}

type heldWorker struct {
	world   *interleaving
	breaker *breaker
	samples []string // endpoints, one sample each
	took    []time.Duration
	proceed chan struct{}
	holds   chan bool // false = finished
}

func newInterleaving(rt *rapid.T) *interleaving {
	w := &interleaving{
		rt: rt, memory: newMemory(), now: boot,
		rule: &rule{
			id: "r", slowThreshold: time.Second, confirmCount: 1, confirmWindow: rememberExpired, minSlowRequests: 1,
			blockTTL: 10 * time.Second, blockTTLMax: 10 * time.Second,
		},
		longest: map[string]instant{}, blocks: map[string]int{}, counted: map[string]int{},
	}
	if rapid.Bool().Draw(rt, "shared") {
		w.rule.evidence, w.rule.confirmCount = evidenceShared, rapid.IntRange(1, 3).Draw(rt, "confirm_count")
	}
	endpoints := rapid.SampledFrom([]string{hostA, hostB, hostC})
	took := rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second})
	if rapid.Bool().Draw(rt, "seeded") {
		w.memory.put(blocklistKey, newBlocklist(nil, nil).encode())
	}
	for i := range rapid.IntRange(2, 4).Draw(rt, "workers") {
		held := &heldWorker{
			world:   w,
			samples: rapid.SliceOfN(endpoints, 1, 8).Draw(rt, fmt.Sprint("samples of ", i)),
			took:    rapid.SliceOfN(took, 8, 8).Draw(rt, fmt.Sprint("took ", i)),
			proceed: make(chan struct{}),
			holds:   make(chan bool),
		}
		held.breaker = newBreaker(newBlockStore(held, func(err error) { rt.Error(err) }), time.Second, new(time.Hour), noJitter)
		w.held = append(w.held, held)
		go held.run()
	}
	for _, held := range w.held {
		<-held.holds
	}
	return w
}

func (w *interleaving) step() bool {
	if len(w.held) == 0 {
		return false
	}
	// Short enough for the whole to stay within the ten minutes that entries and strikes are kept.
	w.now = w.now.add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 4 * time.Second}).Draw(w.rt, "pause"))
	i := rapid.IntRange(0, len(w.held)-1).Draw(w.rt, "worker")
	w.held[i].proceed <- struct{}{}
	if !<-w.held[i].holds {
		w.held = slices.Delete(w.held, i, i+1)
	}
	return true
}

func (w *interleaving) check() {
	list, err := decodeBlocklist(w.memory.values[blocklistKey], w.now)
	if len(w.memory.values) == 0 {
		return
	}
	require.NoError(w.rt, err)
	for endpoint, until := range w.longest {
		e, ok := list.find(cluster, endpoint, false)
		if !ok || e.Until < until {
			w.rt.Fatalf("%s was blocked until %d and is now %+v", endpoint, until, e)
		}
		if e.Strikes != w.blocks[endpoint] {
			w.rt.Fatalf("%s was blocked %d times and has %d strikes", endpoint, w.blocks[endpoint], e.Strikes)
		}
	}
	for endpoint, counted := range w.counted {
		all := list.evidenceOf(cluster, endpoint, w.rule.id)
		if len(all.counted) != counted && !w.gaveUp {
			w.rt.Fatalf("%d samples of %s were counted and %d are there", counted, endpoint, len(all.counted))
		}
	}
}

func (h *heldWorker) hold() {
	h.holds <- true
	<-h.proceed
}

func (h *heldWorker) run() {
	h.hold()
	for i, endpoint := range h.samples {
		now := h.world.now
		s := sample{started: now.add(-h.took[i]), reached: now}
		v, err := h.breaker.observe(h.world.rule, cluster, endpoint, s, reasonHeaders, now)
		h.world.note(endpoint, v, err)
	}
	h.holds <- false
}

func (w *interleaving) note(endpoint string, v verdict, err error) {
	switch {
	case err != nil:
		w.gaveUp = true
	case v.outcome == outcomeCounted:
		w.counted[endpoint]++
	case v.outcome == outcomeBlocked || v.outcome == outcomeExtended:
		w.longest[endpoint] = max(w.longest[endpoint], v.entry.Until)
		w.counted[endpoint] = 0
	}
	if err == nil && v.outcome == outcomeBlocked {
		w.blocks[endpoint]++
	}
}

func (h *heldWorker) get(key string) (value []byte, cas uint32, err error) {
	h.hold()
	return h.world.memory.get(key)
}

func (h *heldWorker) set(key string, value []byte, cas uint32) error {
	h.hold()
	return h.world.memory.set(key, value, cas)
}
