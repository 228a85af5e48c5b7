package tuning

import (
	"context"
	"fmt"
	"slices"
	"time"

	"endpoint-breaker/internal/sim"
)

// The host that comes back too early, or too late: one of four, at two requests a second.
const (
	returnHosts   = 4
	returnRate    = 2
	returnWorkers = 2
	slowAnswer    = 3 * time.Minute
	slowFor       = 30 * time.Minute
	faultEnds     = warmUp + slowFor
	window        = time.Minute // in which a share is measured
	enough        = 0.9         // of its share

	// A host heals 5 to 20 minutes into its fault. The steps are no divisor of what a block and
	// finding the host again take, so that they meet every phase of it.
	firstHeal = 5 * time.Minute
	healStep  = 109 * time.Second
)

// Return is a row of the first table.
type Return struct {
	Configuration string
	// What a host that is slow for half an hour gets.
	InService float64 // share of the time in which it is neither blocked nor on probation
	Hits      int     // requests that were sent to it
	HitShare  float64 // of those that it would have got without a breaker
	// What a host that heals has to wait for, and misses.
	FullShare typical[wait]
	Kept      typical[int]

	spells []spell // of the first run, for the picture
}

// spell is a time for which the host was kept out; from probation on it got single requests.
type spell struct {
	from, probation, to time.Duration
}

// measureReturn plays one row: so many seeds of a host that stays slow, so many that heal, and for
// each of the former one that heals at the worst moment.
func measureReturn(ctx context.Context, wasm []byte, c configuration, seeds, heals int) (Return, error) {
	row := Return{Configuration: c.String()}
	var found recoveries
	if err := found.atTypicalMoments(ctx, wasm, c, heals); err != nil {
		return row, err
	}
	row.FullShare.Median, row.Kept.Median = summary(found.waits).Median, summary(found.kept).Median
	var inService, hitShare []float64
	var hits []int
	for seed := range uint64(seeds) {
		s := single(c, faultEnds, step{warmUp, slowAnswer})
		result, err := s.play(ctx, wasm, seed+1)
		if err != nil {
			return row, err
		}
		stays := stay(result, s.clusters[0])
		inService = append(inService, stays.InService)
		hits = append(hits, stays.Hits)
		hitShare = append(hitShare, stays.HitShare)
		if seed == 0 {
			row.spells = stays.spells
		}
		if err := found.atTheWorstMoment(ctx, wasm, c, blocksOf(result, s.clusters[0].host(0)), seed+1); err != nil {
			return row, err
		}
	}
	row.InService, row.Hits, row.HitShare = summary(inService).Median, summary(hits).Median, summary(hitShare).Median
	row.FullShare.Worst, row.Kept.Worst = summary(found.waits).Worst, summary(found.kept).Worst
	return row, nil
}

// single is a run of one cluster with the fault.
func single(c configuration, duration time.Duration, fault ...step) stage {
	return stage{name: c.String(), workers: returnWorkers, duration: duration, clusters: []cluster{slowHost("host", c, fault...)}}
}

func slowHost(name string, c configuration, fault ...step) cluster {
	return cluster{name: name, rule: c, hosts: returnHosts, ill: 1, fault: fault, rate: returnRate}
}

// stay is what the host that stayed slow got.
func stay(r *sim.Result, c cluster) Return {
	var row Return
	all := 0
	for _, request := range requestsOf(r, c) {
		if request.Arrived < warmUp {
			continue
		}
		all++
		if request.Endpoint == c.host(0) {
			row.Hits++
		}
	}
	row.HitShare = float64(row.Hits) * returnHosts / float64(all)
	row.spells = spells(blocksOf(r, c.host(0)), c.rule.has(probation()))
	out := time.Duration(0)
	for _, s := range row.spells {
		out += s.to - s.from
	}
	row.InService = 1 - out.Seconds()/slowFor.Seconds()
	return row
}

// spells are the times for which the slow host was kept out. It is never in time, so that a probation
// ends with the next block.
func spells(blocks []*sim.Block, onProbation bool) []spell {
	var all []spell
	for i, block := range blocks {
		one := spell{from: block.Seen, probation: min(block.Until, faultEnds)}
		one.to = one.probation
		if onProbation {
			one.to = faultEnds
			if i+1 < len(blocks) {
				one.to = blocks[i+1].Seen
			}
		}
		all = append(all, one)
	}
	return all
}

// watched is how long a host is looked at that is well: the last of the requests that it owes an
// answer becomes late, its block passes, and there is a window to measure in.
func watched(c configuration) time.Duration { return threshold + c.longestBlock() + 2*window }

// recoveries are those of several hosts that healed.
type recoveries struct {
	waits []wait
	kept  []int
}

func (f *recoveries) add(r *sim.Result, c cluster, heals time.Duration) {
	took, kept := recovery(requestsOf(r, c), c.host(0), heals)
	f.waits = append(f.waits, took)
	f.kept = append(f.kept, kept)
}

// atTypicalMoments plays hosts that heal at moments that have nothing to do with their blocks.
func (f *recoveries) atTypicalMoments(ctx context.Context, wasm []byte, c configuration, n int) error {
	s := stage{name: c.String(), workers: returnWorkers}
	var moments []time.Duration
	for i := range n {
		heals := warmUp + firstHeal + time.Duration(i)*healStep
		one := slowHost(fmt.Sprintf("heals-%d", i+1), c, step{warmUp, slowAnswer}, step{heals, usual})
		one.to = heals + watched(c)
		s.duration = one.to
		s.clusters = append(s.clusters, one)
		moments = append(moments, heals)
	}
	result, err := s.play(ctx, wasm, 1)
	if err != nil {
		return err
	}
	for i, heals := range moments {
		f.add(result, s.clusters[i], heals)
	}
	return nil
}

// atTheWorstMoment plays the run with these blocks again, and lets the host heal as soon as the
// request is on its way that will confirm the longest of the blocks (but for the first one, which
// may be of a fault that is hardly one).
func (f *recoveries) atTheWorstMoment(ctx context.Context, wasm []byte, c configuration, blocks []*sim.Block, seed uint64) error {
	if len(blocks) < 2 {
		return fmt.Errorf("%s, seed %d: %d blocks of a host that is slow for %s", c, seed, len(blocks), slowFor)
	}
	longest := slices.MaxFunc(blocks[1:], func(a, b *sim.Block) int { return int((a.Until - a.Seen) - (b.Until - b.Seen)) })
	heals := longest.Seen - threshold + time.Second
	s := single(c, heals+watched(c), step{warmUp, slowAnswer}, step{heals, usual})
	result, err := s.play(ctx, wasm, seed)
	if err != nil {
		return err
	}
	f.add(result, s.clusters[0], heals)
	return nil
}

// recovery is the time from the moment at which the host healed to the first request from which on
// it has its share in every window, and how many of its requests went elsewhere until then.
func recovery(requests []*sim.Request, host string, heals time.Duration) (wait, int) {
	after := requests[firstAt(requests, heals):]
	last := len(after)
	for i := range after {
		if after[len(after)-1].Arrived-after[i].Arrived < window {
			last = i
			break
		}
	}
	from := last // the earliest request from which on all windows are good
	for from > 0 && hasShare(after[from-1:], host) {
		from--
	}
	if from == 0 {
		return 0, 0
	}
	if from == last {
		return never, int(share(len(after))) - count(after, host)
	}
	for after[from].Endpoint != host {
		from++
	}
	missed := share(from) - float64(count(after[:from], host))
	return wait(after[from].Arrived - heals), max(int(missed+0.5), 0)
}

// hasShare reports whether the host gets enough of the requests of the window that they begin with.
func hasShare(requests []*sim.Request, host string) bool {
	within := requests[:firstAt(requests, requests[0].Arrived+window)]
	return float64(count(within, host)) >= enough*share(len(within))
}

// firstAt is the index of the first request at that moment or later.
func firstAt(requests []*sim.Request, moment time.Duration) int {
	i, _ := slices.BinarySearchFunc(requests, moment, func(r *sim.Request, at time.Duration) int { return int(r.Arrived - at) })
	return i
}

func share(requests int) float64 { return float64(requests) / returnHosts }

func count(requests []*sim.Request, host string) int {
	n := 0
	for _, request := range requests {
		if request.Endpoint == host {
			n++
		}
	}
	return n
}
