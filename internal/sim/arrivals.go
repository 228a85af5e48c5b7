package sim

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"
)

// arrivals is one traffic at work: it puts its requests into the queue, each
// arrival the next one.
type arrivals struct {
	m       *simulation
	traffic *Traffic
	random  *rand.Rand
	worker  func(n int) int // which worker the n-th request falls to
	n       int
}

// startTraffic starts one stream of arrivals, or with spread each one for every
// worker.
func (m *simulation) startTraffic(t *Traffic) {
	if t.Spread != "each" {
		random := m.random("traffic " + t.Name)
		m.start(&arrivals{m: m, traffic: t, random: random, worker: spread(t, m.options.Workers, random)})
		return
	}
	for worker := range m.options.Workers {
		m.start(&arrivals{
			m: m, traffic: t,
			random: m.random(fmt.Sprintf("traffic %s worker %d", t.Name, worker)),
			worker: func(int) int { return worker },
		})
	}
}

func (m *simulation) start(a *arrivals) { a.schedule(time.Duration(a.traffic.From)) }

// schedule puts the next arrival into the queue. Moments are computed from the
// first one on, so that three requests a second are three, not 3.000000009.
func (a *arrivals) schedule(previous time.Duration) {
	moment, more := a.next(previous)
	if !more {
		return
	}
	a.m.queue.at(moment, func() error {
		worker := a.worker(a.n)
		a.n++
		a.schedule(moment)
		return a.m.arrive(a.traffic, worker)
	})
}

func (a *arrivals) next(previous time.Duration) (moment time.Duration, more bool) {
	t := a.traffic
	from := time.Duration(t.From)
	switch {
	case t.Burst > 0:
		return from + share(time.Duration(t.Over), a.n, t.Burst), a.n < t.Burst
	case t.Arrivals == "poisson":
		moment = previous + time.Duration(a.random.ExpFloat64()/t.Rate*float64(time.Second)).Truncate(time.Microsecond)
	default:
		moment = from + time.Duration(float64(a.n)*float64(time.Second)/t.Rate)
	}
	return moment, moment < time.Duration(*t.To)
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
