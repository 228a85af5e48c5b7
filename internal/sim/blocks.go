package sim

import (
	"fmt"
	"time"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// Block is one time for which an endpoint was blocked.
type Block struct {
	Cluster  string
	Endpoint string        // its name in the scenario, or its address if it has none there
	Seen     time.Duration // when the entry appeared
	Until    time.Duration // as extended
	Strikes  int
	Reason   string
	Observed bool // by mode observe: steers nothing
	Extended int  // how often until was moved away
	// Shortened is how often until was moved nearer. Only a new configuration with a
	// shorter TTL may do that.
	Shortened int
	Lost      bool // its entry disappeared before its time

	// Where the gateway does not show every move of the end: the end is this moment or later
	// (0 = Until), and may be later than Until.
	EarliestEnd time.Duration
	MayBeLonger bool

	key   blockKey
	since time.Duration // as the entry says: what tells one block from the next
}

// ends is the range that the end of the block is in.
func (b *Block) ends() (earliest, latest time.Duration) {
	earliest, latest = b.Until, b.Until
	if b.EarliestEnd > 0 {
		earliest = min(earliest, b.EarliestEnd)
	}
	if b.MayBeLonger {
		latest = Never
	}
	return earliest, latest
}

// activeIn reports whether the endpoint was blocked at any moment of the window that stays away
// from its edges by the margin.
func (b *Block) activeIn(w Window, m margin) bool {
	end := b.Until
	switch earliest, latest := b.ends(); {
	case m.times > 0: // surely
		end = earliest
	case m.times < 0: // possibly
		end = latest
	}
	within := w.within(m)
	return b.Seen < within.to && end > within.from
}

// lasts reports whether the block may be that long.
func (b *Block) lasts(long, tolerance time.Duration) bool {
	earliest, latest := b.ends()
	return b.Seen+long >= earliest-tolerance && (latest == Never || b.Seen+long <= latest+tolerance)
}

// blockWatch follows the blocklist through a run.
type blockWatch struct {
	log      *EventLog
	list     *blocklist.Reader
	names    map[blockKey]string
	current  map[blockKey]*Block
	episodes []*Block
}

// blockKey tells entries apart. Observed blocks are entries of their own.
type blockKey struct {
	cluster, address string
	observed         bool
}

func newBlockWatch(s *Scenario, store *wasmhost.SharedData, log *EventLog) *blockWatch {
	w := &blockWatch{log: log, list: blocklist.NewReader(store), names: map[blockKey]string{}, current: map[blockKey]*Block{}}
	for _, cluster := range s.Clusters {
		for _, endpoint := range cluster.Endpoints {
			w.names[blockKey{cluster: cluster.Name, address: endpoint.Address}] = endpoint.Name
		}
	}
	return w
}

// look notes what has changed in the blocklist since the last look.
func (w *blockWatch) look(now time.Duration) {
	entries, changed, err := w.list.Changed()
	if err != nil {
		w.log.Line("blocklist unreadable: %v", err)
	}
	if !changed {
		return
	}
	present := map[blockKey]bool{}
	for _, entry := range entries {
		key := blockKey{entry.Cluster, entry.Endpoint, entry.Observed}
		present[key] = true
		w.note(now, key, entry)
	}
	w.noteLost(now, present)
}

func (w *blockWatch) note(now time.Duration, key blockKey, entry blocklist.Entry) {
	until := entry.Until - startMonotonic
	block := w.current[key]
	switch {
	case block == nil || entry.Since != block.since:
		if until > now {
			w.begin(now, key, entry)
		}
	case until != block.Until:
		w.log.Line("block of %s moved from %s to %s", block.Endpoint, shown(block.Until), shown(until))
		if until > block.Until {
			block.Extended++
		} else {
			block.Shortened++
		}
		block.Until = until
	}
}

func (w *blockWatch) begin(now time.Duration, key blockKey, entry blocklist.Entry) {
	block := &Block{
		Cluster: key.cluster, Endpoint: w.names[blockKey{cluster: key.cluster, address: key.address}],
		Seen: now, Until: entry.Until - startMonotonic,
		Strikes: entry.Strikes, Reason: entry.Reason, Observed: entry.Observed,
		key: key, since: entry.Since,
	}
	if block.Endpoint == "" {
		block.Endpoint = key.address
	}
	w.current[key] = block
	w.episodes = append(w.episodes, block)
	w.log.Line("block of %s: %s", block.Endpoint, block)
}

// noteLost finds the blocks whose entries are gone before their time.
func (w *blockWatch) noteLost(now time.Duration, present map[blockKey]bool) {
	for _, block := range w.episodes {
		if block.Until <= now || present[block.key] {
			continue
		}
		block.Lost = true
		block.Until = now
		w.log.Line("block of %s lost", block.Endpoint)
	}
}

func (b *Block) mark() string {
	if b.Observed {
		return " (observed only)"
	}
	return ""
}

// name is the block with whose it is.
func (b *Block) name() string { return b.Endpoint + " " + b.String() }

// String describes the block in an expectation's verdict.
func (b *Block) String() string {
	return fmt.Sprintf("%s to %s (%s, strikes %d)%s", shown(b.Seen), shown(b.Until), b.Reason, b.Strikes, b.mark())
}
