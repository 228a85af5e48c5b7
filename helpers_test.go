package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	cluster = "outbound|443||llm.dns"
	hostA   = "10.0.0.1:8000"
	hostB   = "10.0.0.2:8000"
	hostC   = "10.0.0.3:8000"
)

// boot is where the hand-moved clock stands at t = 0.
const boot = instant(1000 * time.Second)

// at returns the moment that many seconds after t = 0.
func at(seconds float64) instant { return boot.add(time.Duration(seconds * float64(time.Second))) }

// defaults returns the rule of an empty configuration: 70 s, 5 s, 2 confirmations, 45 s.
func defaults() *rule {
	settings, err := parseSettings(nil)
	if err != nil {
		panic(err)
	}
	return settings.global
}

// configured returns the one rule of a configuration.
func configured(t *testing.T, configuration string) *rule {
	t.Helper()
	settings, err := parseSettings([]byte(configuration))
	require.NoError(t, err)
	return settings.global
}

// memory is SharedData with the CAS rules of the real one.
type memory struct {
	values map[string][]byte
	cas    map[string]uint32
	next   uint32

	gets, sets int
	beforeSet  func() // another worker between get and set
	failGet    error
	failSet    error
	failOnce   bool // failGet is over after one get
}

func newMemory() *memory {
	return &memory{values: map[string][]byte{}, cas: map[string]uint32{}, next: 1}
}

func (m *memory) get(key string) (value []byte, cas uint32, err error) {
	m.gets++
	if err := m.failGet; err != nil {
		if m.failOnce {
			m.failGet = nil
		}
		return nil, 0, err
	}
	value, ok := m.values[key]
	if !ok {
		return nil, 0, errKeyMissing
	}
	return value, m.cas[key], nil
}

func (m *memory) set(key string, value []byte, cas uint32) error {
	m.sets++
	if between := m.beforeSet; between != nil {
		m.beforeSet = nil
		between()
	}
	if m.failSet != nil {
		return m.failSet
	}
	if _, ok := m.values[key]; ok && cas != 0 && cas != m.cas[key] {
		return errCASMismatch
	}
	m.put(key, value)
	return nil
}

func (m *memory) put(key string, value []byte) {
	m.values[key], m.cas[key] = value, m.next
	m.next++
}

// gateway is workers that share a memory, as the VMs of one Envoy do.
type gateway struct {
	t       *testing.T
	rule    *rule
	memory  *memory
	workers []*breaker
	damage  []error
}

func newGateway(t *testing.T, workers int, r *rule) *gateway {
	t.Helper()
	g := &gateway{t: t, rule: r, memory: newMemory()}
	for range workers {
		store := newBlockStore(g.memory, func(err error) { g.damage = append(g.damage, err) })
		g.workers = append(g.workers, newBreaker(store, r.slowThreshold, new(time.Hour), noJitter))
	}
	_, err := g.workers[0].store.seed(boot, r.blockTTL)
	require.NoError(t, err)
	return g
}

// answer reports to worker 0 an answer of the endpoint that ends at the given second and took
// that many; a fast one is nothing that the breaker hears of.
func (g *gateway) answer(endpoint string, end, took float64) outcome {
	return g.answerTo(0, endpoint, end, took)
}

func (g *gateway) answerTo(worker int, endpoint string, end, took float64) outcome {
	g.t.Helper()
	v, err := g.observe(worker, endpoint, end, took)
	require.NoError(g.t, err)
	return v.outcome
}

func (g *gateway) observe(worker int, endpoint string, end, took float64) (verdict, error) {
	if time.Duration(took*float64(time.Second)) < g.rule.slowThreshold {
		return verdict{outcome: notASample}, nil
	}
	s := sample{started: at(end - took), reached: at(end)}
	return g.workers[worker].observe(g.rule, cluster, endpoint, s, reasonHeaders, at(end))
}

// noJitter is a random number that no rule without jitter looks at.
func noJitter() float64 { return 0.5 }

// notASample is what a fast answer amounts to.
const notASample outcome = 255

func (o outcome) String() string {
	switch o {
	case outcomeStale:
		return "stale"
	case outcomeDeduplicated:
		return "deduplicated"
	case outcomeCounted:
		return "counted"
	case outcomeBlocked:
		return "blocked"
	case outcomeExtended:
		return "extended"
	case notASample:
		return "not a sample"
	default:
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
}

// blocklist returns what a worker sees at its next request.
func (g *gateway) blocklist(worker int, second float64) *blocklist {
	g.t.Helper()
	list, err := g.workers[worker].store.read(at(second))
	require.NoError(g.t, err)
	return list
}

// blocked reports whether a worker keeps requests away from the endpoint.
func (g *gateway) blocked(worker int, endpoint string, second float64) bool {
	g.t.Helper()
	e, ok := g.blocklist(worker, second).find(cluster, endpoint, g.rule.observes())
	return ok && e.blocks(at(second))
}

// entryOfA returns what is known of A, which has been blocked.
func (g *gateway) entryOfA(second float64) entry {
	g.t.Helper()
	e, ok := g.blocklist(0, second).find(cluster, hostA, g.rule.observes())
	require.True(g.t, ok, "A was never blocked")
	return e
}

// countOfA returns how many counted samples a worker holds against A.
func (g *gateway) countOfA(worker int) int {
	e := g.workers[worker].ledger.byEndpoint[ledgerKey{g.rule, cluster, hostA}]
	if e == nil {
		return 0
	}
	return len(e.counted)
}

var errHost = errors.New("internal failure")
