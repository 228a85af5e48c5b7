package tuning

import (
	"context"
	"fmt"
	"time"

	"endpoint-breaker/internal/sim"
)

// A host that has a hiccup: what is sent to it within a few seconds takes longer than the threshold,
// and all else is quick. It should not be blocked for it.
const (
	hiccup       = 4 * time.Second // shorter than dedup_window
	hiccupAnswer = 80 * time.Second
	hiccupsApart = 2 * time.Minute // less than confirm_window
	burstRate    = 10.0            // of the requests where one hiccup hits as many workers as there can be
	twoRate      = 1.0             // where it hits few
)

// Hiccup is a row of the table about false alarms, by kind of evidence.
type Hiccup struct {
	Workers        int
	Worker, Shared FalseAlarms
}

// FalseAlarms is what hiccups led to.
type FalseAlarms struct {
	Slow         typical[int] // requests of one hiccup that were slow
	Samples      typical[int] // that it was counted as
	Runs         int          // with one hiccup
	BlockedByOne int          // runs in which it blocked the host
	RunsWithTwo  int
	BlockedByTwo int
}

// measureHiccup plays one row: clusters with one hiccup under many requests, and clusters with two
// under few. The requests are the same with either kind of evidence.
func measureHiccup(ctx context.Context, wasm []byte, workers, clusters, clustersWithTwo int) (row Hiccup, err error) {
	row.Workers = workers
	if row.Worker, err = playHiccups(ctx, wasm, workers, clusters, clustersWithTwo, byWorker()); err != nil {
		return row, err
	}
	row.Shared, err = playHiccups(ctx, wasm, workers, clusters, clustersWithTwo, allTogether())
	return row, err
}

func playHiccups(ctx context.Context, wasm []byte, workers, clusters, clustersWithTwo int, kind key) (FalseAlarms, error) {
	found := FalseAlarms{Runs: clusters, RunsWithTwo: clustersWithTwo}
	s := stage{
		name: fmt.Sprintf("hiccups, %v, %d workers", kind.value, workers), workers: workers,
		duration: warmUp + hiccupsApart + hiccup + hiccupAnswer + time.Second,
	}
	for i := range clusters {
		s.clusters = append(s.clusters, withHiccups(1, i, burstRate, kind))
	}
	for i := range clustersWithTwo {
		s.clusters = append(s.clusters, withHiccups(2, i, twoRate, kind))
	}
	result, err := s.play(ctx, wasm, 1)
	if err != nil {
		return found, err
	}
	var slow, samples []int
	for _, c := range s.clusters {
		blocked := min(len(blocksOf(result, c.host(0))), 1)
		if c.rate == twoRate {
			found.BlockedByTwo += blocked
			continue
		}
		found.BlockedByOne += blocked
		slow = append(slow, lateOnes(result, c, s.duration))
		samples = append(samples, int(result.Metric("samples", c.envoyName())))
	}
	found.Slow, found.Samples = summary(slow), summary(samples)
	return found, nil
}

// lateOnes counts the requests that took the threshold.
func lateOnes(r *sim.Result, c cluster, end time.Duration) int {
	n := 0
	for _, request := range requestsOf(r, c) {
		if request.Waited(end) >= threshold {
			n++
		}
	}
	return n
}

// withHiccups is the i-th cluster with so many hiccups. Its last request comes at the end of them.
func withHiccups(n, i int, rate float64, kind key) cluster {
	c := cluster{
		name: fmt.Sprintf("%d-hiccups-%d", n, i+1), rule: configuration{kind}, hosts: evidenceHosts, ill: 1, rate: rate,
	}
	for i := range n {
		begins := warmUp + time.Duration(i)*hiccupsApart
		c.fault = append(c.fault, step{begins, hiccupAnswer}, step{begins + hiccup, usual})
		c.to = begins + hiccup
	}
	return c
}
