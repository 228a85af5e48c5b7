package sim

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// Arrival is a request that comes to the gateway.
type Arrival struct {
	At      time.Duration
	Traffic *Traffic
	Worker  int // which it falls to
}

// Arrivals lists what the traffic sends on so many workers, in the order of its arrival. The
// same seed gives the same list, whatever gateway it is for.
func (s *Scenario) Arrivals(workers int, seed uint64) []Arrival {
	var all []Arrival
	for _, source := range s.sources(workers, seed) {
		for a, more := source.next(); more && a.At <= time.Duration(s.Duration); a, more = source.next() {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return all
}

// source is one traffic at work, or with spread each what it sends to one worker.
type source struct {
	traffic *Traffic
	random  *rand.Rand
	worker  func(n int) int // which worker the n-th request falls to
	n       int
	last    time.Duration // the arrival before the next one
}

// sources are those of all traffic.
func (s *Scenario) sources(workers int, seed uint64) []*source {
	var all []*source
	for i := range s.Traffic {
		t := &s.Traffic[i]
		if t.Spread != "each" {
			random := newRandom(seed, "traffic "+t.Name)
			all = append(all, newSource(t, random, spread(t, workers, random)))
			continue
		}
		for worker := range workers {
			random := newRandom(seed, fmt.Sprintf("traffic %s worker %d", t.Name, worker))
			all = append(all, newSource(t, random, func(int) int { return worker }))
		}
	}
	return all
}

func newSource(t *Traffic, random *rand.Rand, worker func(n int) int) *source {
	return &source{traffic: t, random: random, worker: worker, last: time.Duration(t.From)}
}

// next returns the next arrival, if there is one more.
func (s *source) next() (a Arrival, more bool) {
	moment, more := s.moment()
	if !more {
		return Arrival{}, false
	}
	a = Arrival{At: moment, Traffic: s.traffic, Worker: s.worker(s.n)}
	s.n++
	s.last = moment
	return a, true
}

// moment is when the next request comes. It is computed from the first one on, so that three
// requests a second are three, not 3.000000009.
func (s *source) moment() (moment time.Duration, more bool) {
	t := s.traffic
	from := time.Duration(t.From)
	switch {
	case t.Burst > 0:
		return from + share(time.Duration(t.Over), s.n, t.Burst), s.n < t.Burst
	case t.Arrivals == "poisson":
		moment = s.last + time.Duration(s.random.ExpFloat64()/t.Rate*float64(time.Second)).Truncate(time.Microsecond)
	default:
		moment = from + time.Duration(float64(s.n)*float64(time.Second)/t.Rate)
	}
	return moment, moment < time.Duration(*t.To)
}

// schedule puts the next arrival of a source into the queue; each brings the one behind it.
func (m *simulation) schedule(s *source) {
	next, more := s.next()
	if !more {
		return
	}
	m.queue.at(next.At, func() error {
		m.schedule(s)
		return m.arrive(next.Traffic, next.Worker)
	})
}

// share is n parts of the many that a time is cut into. The product may need more than 64
// bits.
func share(whole time.Duration, n, parts int) time.Duration {
	high, low := bits.Mul64(uint64(whole), uint64(n))
	quotient, _ := bits.Div64(high, low, uint64(parts))
	return time.Duration(quotient)
}

// spread says which worker the n-th request falls to.
func spread(t *Traffic, workers int, random *rand.Rand) func(n int) int {
	switch {
	case t.Worker != nil:
		return func(int) int { return *t.Worker }
	case t.Weights != nil:
		return func(int) int { return weighted(t.Weights, random) }
	case t.Spread == "random":
		return func(int) int { return random.IntN(workers) }
	default:
		return func(n int) int { return n % workers }
	}
}

func weighted(weights []float64, random *rand.Rand) int {
	total := 0.0
	for _, weight := range weights {
		total += weight
	}
	left := random.Float64() * total
	for i, weight := range weights {
		if left -= weight; left < 0 {
			return i
		}
	}
	return len(weights) - 1
}
