package tuning

import (
	"context"
	"fmt"
	"time"

	"endpoint-breaker/internal/sim"
)

// A host that hangs, one of three.
const (
	evidenceHosts = 3
)

// patience is for how long after the beginning of the fault a block is waited for. Most hosts need
// no more than the first.
func patience() []time.Duration { return []time.Duration{2 * time.Minute, 20 * time.Minute, time.Hour} }

func workerCounts() []int { return []int{1, 4, 16} }
func rates() []float64    { return []float64{0.1, 1, 10} }

// Evidence is a row of the second table: the time from the beginning of the fault to the block.
type Evidence struct {
	Workers        int
	Rate           float64 // requests per second of the cluster
	Worker, Shared typical[wait]
}

// measureEvidence plays the rows for so many workers: of each rate so many clusters, and the same
// requests with either kind of evidence.
func measureEvidence(ctx context.Context, wasm []byte, workers, clusters int) ([]Evidence, error) {
	rows := make([]Evidence, len(rates()))
	for _, kind := range []key{byWorker(), allTogether()} {
		waits, err := untilAllBlocked(ctx, wasm, workers, clusters, kind)
		if err != nil {
			return nil, err
		}
		for i, rate := range rates() {
			rows[i].Workers, rows[i].Rate = workers, rate
			if kind == byWorker() {
				rows[i].Worker = summary(waits[rate])
			} else {
				rows[i].Shared = summary(waits[rate])
			}
		}
	}
	return rows, nil
}

// untilAllBlocked looks for as long as it has to, up to an hour, and returns the times by the rate
// of the requests.
func untilAllBlocked(ctx context.Context, wasm []byte, workers, clusters int, kind key) (map[float64][]wait, error) {
	waits := map[float64][]wait{}
	left := hanging(clusters, kind)
	for i, watched := range patience() {
		s := stage{name: fmt.Sprintf("%v, %d workers", kind.value, workers), workers: workers, duration: warmUp + watched, clusters: left}
		result, err := s.play(ctx, wasm, 1)
		if err != nil {
			return nil, err
		}
		left = nil
		for _, c := range s.clusters {
			took := untilBlocked(result, c)
			if took == never && i+1 < len(patience()) {
				left = append(left, c)
				continue
			}
			waits[c.rate] = append(waits[c.rate], took)
		}
		if len(left) == 0 {
			break
		}
	}
	return waits, nil
}

// hanging are so many clusters of each rate with a host that hangs.
func hanging(clusters int, kind key) []cluster {
	var all []cluster
	for i := range clusters {
		for _, rate := range rates() {
			all = append(all, cluster{
				name: fmt.Sprintf("hangs-%d-%g", i+1, rate), rule: configuration{kind}, hosts: evidenceHosts, ill: 1,
				fault: []step{{warmUp, hang}}, rate: rate,
			})
		}
	}
	return all
}

func untilBlocked(r *sim.Result, c cluster) wait {
	blocks := blocksOf(r, c.host(0))
	if len(blocks) == 0 {
		return never
	}
	return wait(blocks[0].Seen - warmUp)
}
