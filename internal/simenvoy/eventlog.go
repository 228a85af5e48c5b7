package simenvoy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/sim"
)

// entry is a line of the event log to be.
type entry struct {
	at   time.Duration
	text string
}

// writeLog writes the event log of the run, in the words of package sim.
func (p *Player) writeLog(r *sim.Result) error {
	entries := []entry{{0, fmt.Sprintf("scenario %s, workers %d, seed %d, on %s", p.scenario.Name, r.Workers, p.options.Seed, r.Gateway)}}
	for _, q := range r.Requests {
		entries = append(entries, requestEntries(q)...)
	}
	for _, c := range p.changes {
		entries = append(entries, entry{c.at, "event " + c.event.String()})
		if c.refused != "" {
			entries = append(entries, entry{c.at + p.clock.virtual(c.late), "configuration refused"})
		}
	}
	for _, line := range p.log.until(p.clock, p.scenario.Duration) {
		entries = append(entries, p.logEntry(line))
	}
	for _, b := range r.Blocks {
		entries = append(entries, entry{b.Seen, fmt.Sprintf("block of %s: %s", b.Endpoint, b)})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	now := time.Duration(0)
	log := sim.NewEventLog(p.options.Log, func() time.Duration { return now })
	for _, e := range entries {
		now = e.at
		log.Line("%s", e.text)
	}
	return log.Flush()
}

func requestEntries(q *sim.Request) []entry {
	who := fmt.Sprintf("w%d #%d ", q.Worker, q.Number)
	entries := []entry{{q.Arrived, who + "arrives on " + q.Traffic.Route}}
	if q.Endpoint != "" {
		entries = append(entries, entry{q.Chosen, who + "goes to " + q.Endpoint})
	}
	if q.Outcome != sim.Unfinished {
		entries = append(entries, entry{q.Ended, fmt.Sprintf("%s%s, status %d, after %s", who, q.Outcome, q.Status, q.Ended-q.Arrived)})
	}
	return entries
}

func (p *Player) logEntry(line envoy.LogLine) entry {
	return entry{p.clock.moment(line.Time), fmt.Sprintf("[%s] %s", line.Level, strings.ReplaceAll(line.Message, "\n", " | "))}
}
