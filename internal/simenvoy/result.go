package simenvoy

import (
	"fmt"
	"strings"
	"time"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
)

// unseen are the kinds of expectations that only a look into the gateway could judge.
func unseen() map[string]string {
	return map[string]string{
		"blocks_lost":      "the blocklist cannot be looked at from outside of Envoy",
		"blocks_shortened": "the blocklist cannot be looked at from outside of Envoy",
		"memory_growth":    "Envoy tells no VM's memory",
	}
}

// result is what the run has brought.
func (p *Player) result() (*sim.Result, error) {
	r := sim.NewResult(p.scenario, p.options.Workers)
	r.Gateway = fmt.Sprintf("Envoy %s at %d×", envoy.Version, p.options.Scale)
	r.Unseen = unseen()
	r.Requests = p.results()
	for name, value := range p.metrics {
		if own, found := strings.CutPrefix(name, "wasmcustom."); found {
			r.Metrics[own] = int64(value)
		}
	}
	for _, c := range p.changes {
		if c.refused != "" {
			r.NoteRefusal(c.at, c.refused)
		}
	}
	lines := p.log.until(p.clock, p.scenario.Duration)
	for _, line := range lines {
		r.PluginLog = append(r.PluginLog, line.Message)
	}
	r.Trapped = traps(lines)
	if err := p.noteBlocks(r, lines); err != nil {
		return nil, err
	}
	var err error
	r.Tolerance, err = p.tolerance(r)
	if err != nil {
		return nil, err
	}
	return r, p.writeLog(r)
}

// results are the requests as package sim knows them. What happened after the end of the run
// has not happened.
func (p *Player) results() []*sim.Request {
	end := time.Duration(p.scenario.Duration)
	byEnd := func(moment time.Duration) time.Duration {
		if moment > end {
			return sim.Never
		}
		return moment
	}
	reached := p.endpoints.arrivals()
	var all []*sim.Request
	for _, q := range p.requests {
		result := &sim.Request{
			Number: q.number, Traffic: q.Traffic, Cluster: p.routeOf(q).Cluster, Worker: q.Worker, Arrived: q.At,
			Complete: byEnd(time.Duration(q.complete.Load())), Chosen: sim.Never, FirstByte: byEnd(q.firstByte),
			Ended: byEnd(q.ended), Outcome: q.outcome, Status: q.status,
		}
		if at, found := reached[q.number]; found {
			result.Endpoint, result.Chosen = at.endpoint, p.clock.moment(at.at)
		}
		if result.Ended == sim.Never {
			result.Outcome, result.Status = sim.Unfinished, 0
		}
		all = append(all, result)
	}
	return all
}

// noteBlocks reads the blocks out of the log, and notes where it does not tell of all their ends.
func (p *Player) noteBlocks(r *sim.Result, lines []envoy.LogLine) error {
	reader := newBlockReader(p.clock, p.endpoints.nameOf)
	for _, line := range lines {
		if err := reader.read(line); err != nil {
			return err
		}
	}
	r.Blocks = reader.blocks
	for _, b := range r.Blocks {
		metric := "extensions_enforced"
		if b.Observed {
			metric = "extensions_observed"
		}
		b.MayBeLonger = r.Metric(metric, b.Cluster) > reader.extended[clusterKey{b.Cluster, b.Observed}]
		for _, c := range p.changes {
			if c.configured && b.Seen < c.at && c.at < b.Until && b.EarliestEnd == 0 {
				b.EarliestEnd = c.at // it may have a shorter TTL
			}
		}
	}
	return nil
}
