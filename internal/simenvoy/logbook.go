package simenvoy

import (
	"slices"
	"strings"
	"sync"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/pluginlog"
	"endpoint-breaker/internal/sim"
)

// logBook keeps what the plugin, and the VMs that it runs in, have written to Envoy's log.
type logBook struct {
	mu    sync.Mutex
	lines []envoy.LogLine
}

func (b *logBook) add(line envoy.LogLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if line.Component == "wasm" {
		b.lines = append(b.lines, line)
	}
}

// until returns the lines up to a moment of the run.
func (b *logBook) until(c clock, end sim.Duration) []envoy.LogLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.lines), func(l envoy.LogLine) bool { return c.moment(l.Time).Nanoseconds() > int64(end) })
}

// traps counts the VMs that have trapped. Each says so once.
func traps(lines []envoy.LogLine) int {
	n := 0
	for _, l := range lines {
		if strings.Contains(l.Message, "Uncaught RuntimeError") {
			n++
		}
	}
	return n
}

// blockReader makes blocks of the plugin's lines about them.
type blockReader struct {
	clock  clock
	nameOf func(address string) string

	blocks   []*sim.Block
	current  map[blockKey]*sim.Block
	extended map[clusterKey]int64 // how many extensions were logged
}

type blockKey struct {
	cluster, address string
	observed         bool
}

type clusterKey struct {
	cluster  string
	observed bool
}

func newBlockReader(c clock, nameOf func(address string) string) *blockReader {
	return &blockReader{clock: c, nameOf: nameOf, current: map[blockKey]*sim.Block{}, extended: map[clusterKey]int64{}}
}

// read takes a line, which may be about something else.
func (r *blockReader) read(line envoy.LogLine) error {
	told, found, err := pluginlog.ParseBlock(line.Message)
	if err != nil || !found {
		return err
	}
	key := blockKey{told.Cluster, told.Endpoint, told.Mode == "observe"}
	seen := r.clock.moment(line.Time)
	until := seen + r.clock.virtual(told.For)
	before := r.current[key]
	if told.Extended {
		r.extended[clusterKey{key.cluster, key.observed}]++
		if before != nil {
			before.Extended++
			before.Until = max(before.Until, until)
		}
		return nil
	}
	if before != nil {
		before.Until = min(before.Until, seen) // else it would have been extended
	}
	block := &sim.Block{
		Cluster: told.Cluster, Endpoint: r.nameOf(told.Endpoint), Seen: seen, Until: until,
		Strikes: told.Strikes, Reason: told.Reason, Observed: key.observed,
	}
	r.current[key] = block
	r.blocks = append(r.blocks, block)
	return nil
}
