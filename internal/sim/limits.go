package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// What a file may ask for at most. Below these limits every sum of moments fits into a
// time.Duration, and a run into the memory of a small machine.
const (
	maxWorkers     = 64
	maxDuration    = Duration(1000 * time.Hour) // of every duration and every moment
	minRate        = 0.0001                     // requests per second: one in 2h46m40s
	maxRate        = 100_000.0
	maxBurst       = 1_000_000
	maxWeight      = 1_000_000
	maxRequests    = 4_000_000 // of all traffic together
	maxInFlight    = 250_000   // each takes some 8 KiB
	maxEndpoints   = 10_000    // of all clusters together
	maxOccurrences = 1_000_000 // of all events together
)

// requestsFor is how many requests the traffic sends, on average where they are random, in
// a run of that length on that many workers.
func (t *Traffic) requestsFor(end Duration, workers int) float64 {
	if t.Burst > 0 {
		return float64(t.Burst)
	}
	n := t.Rate * time.Duration(min(*t.To, end)-t.From).Seconds()
	if t.Spread == "each" {
		n *= float64(workers)
	}
	return math.Ceil(n)
}

// tooManyInFlight ends a run that would not fit into memory: who waits for whom shows only
// when it is played.
func tooManyInFlight(n int) error {
	if n <= maxInFlight {
		return nil
	}
	return fmt.Errorf("traffic: %d requests are in flight; should be at most %d: lower the rate or the burst, or let clients leave (leave_after) or a route time out", n, maxInFlight)
}

// validateRequests limits what all traffic sends together.
func (s *Scenario) validateRequests() error {
	workers := slices.Max(s.Workers)
	all := 0.0
	for i := range s.Traffic {
		all += s.Traffic[i].requestsFor(s.Duration, workers)
	}
	if all > maxRequests {
		return fmt.Errorf("given %.0f requests in all; should be at most %d", all, maxRequests)
	}
	return nil
}

// occurrences is how often the event happens in a run of that length.
func (e Event) occurrences(end Duration) int64 {
	if e.Every == 0 {
		return 1
	}
	return 1 + int64(max(0, e.last(end)-*e.At-1)/e.Every)
}
