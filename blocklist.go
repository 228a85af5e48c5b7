package main

import (
	"cmp"
	"time"
)

// rememberExpired is how long an entry outlives its block at least, and how long its strikes
// are remembered (docs/design.md, Behavior 3).
const rememberExpired = 10 * time.Minute

// farthestUntil bounds how far ahead a block reaches: block_ttl is an hour at most.
const farthestUntil = time.Hour + readerLag

// mostStrikes is more than anybody counts, and far from where the number would overflow.
const mostStrikes = 1_000_000

// reason says what was measured when the endpoint was found slow.
type reason string

const (
	reasonHeaders    reason = "headers"
	reasonFirstChunk reason = "first_chunk"
	reasonInFlight   reason = "in_flight"
	reasonTimeout    reason = "timeout"
	reasonAborted    reason = "aborted"
	reasonStalled    reason = "stalled"
)

// entry is what the blocklist knows of one endpoint. It is a block while until lies in the
// future, and a memory afterwards: since tells which requests are too old to count.
type entry struct {
	Cluster  string  `json:"cluster"`
	Endpoint string  `json:"endpoint"`
	Since    instant `json:"since"`    // when the latest block began
	Until    instant `json:"until"`    // from here on the endpoint is free
	Strikes  int     `json:"strikes"`  // blocks in a row, each within rememberExpired of the last
	Reason   reason  `json:"reason"`   // of the latest block
	Observed bool    `json:"observed"` // from mode observe: steers nothing
}

// blocks reports whether the entry is a block at now.
func (e entry) blocks(now instant) bool { return e.Until > now }

// valid reports whether a block like this can have been written by now.
func (e entry) valid(now instant) bool {
	return e.Cluster != "" && e.Endpoint != "" && e.Strikes >= 1 && e.Strikes <= mostStrikes &&
		e.Since > unknown && e.Since <= now.add(readerLag) &&
		e.Until >= e.Since && e.Until <= now.add(farthestUntil)
}

// entryKey is what an entry speaks of. Observed and enforced blocks are separate entries.
type entryKey struct {
	cluster, endpoint string
	observed          bool
}

func (e entry) key() entryKey { return entryKey{e.Cluster, e.Endpoint, e.Observed} }

// blocklist is one state of the truth that all workers share. It is never changed: a writer
// derives the next one from it.
type blocklist struct {
	entries  []entry
	evidence []sharedEvidence
	index    map[entryKey]int // into entries
	// The end of the last block, enforced and observed: all that most requests need to know.
	enforcedUntil, observedUntil instant
}

func newBlocklist(entries []entry, evidence []sharedEvidence) *blocklist {
	list := &blocklist{
		entries:  append([]entry{}, entries...),
		evidence: evidence,
		index:    make(map[entryKey]int, len(entries)),
	}
	for i, e := range entries {
		list.index[e.key()] = i
		if e.Observed {
			list.observedUntil = max(list.observedUntil, e.Until)
		} else {
			list.enforcedUntil = max(list.enforcedUntil, e.Until)
		}
	}
	return list
}

// find returns the endpoint's entry, block or memory.
func (l *blocklist) find(cluster, endpoint string, observed bool) (entry, bool) {
	i, ok := l.index[entryKey{cluster, endpoint, observed}]
	if !ok {
		return entry{}, false
	}
	return l.entries[i], true
}

// blocksAny reports whether any endpoint of any cluster is blocked.
func (l *blocklist) blocksAny(observed bool, now instant) bool {
	if observed {
		return l.observedUntil > now
	}
	return l.enforcedUntil > now
}

// with returns the list with e in the place of its predecessor, without the entries whose
// block ended more than remember ago, and without the evidence that is too old.
func (l *blocklist) with(e entry, now instant, remember time.Duration) *blocklist {
	next := make([]entry, 0, len(l.entries)+1)
	for _, old := range l.entries {
		if now.since(old.Until) <= remember && old.key() != e.key() {
			next = append(next, old)
		}
	}
	return newBlocklist(append(next, e), l.recentEvidence(now))
}

// shortened returns the list with no block that reaches further than longest from now, or
// the list itself if there is none.
func (l *blocklist) shortened(now instant, longest time.Duration) *blocklist {
	limit := now.add(longest)
	if max(l.enforcedUntil, l.observedUntil) <= limit {
		return l
	}
	next := make([]entry, len(l.entries))
	for i, e := range l.entries {
		e.Until = min(e.Until, limit)
		next[i] = e
	}
	return newBlocklist(next, l.evidence)
}

// The names of the lists in SharedData. evidence is there only while a rule shares its own.
const (
	blocksField   = "blocks"
	evidenceField = "evidence"
)

func (l *blocklist) encode() []byte {
	blocks := field{blocksField, l.entries}
	if len(l.evidence) == 0 {
		return encodeDocument(blocks)
	}
	return encodeDocument(blocks, field{evidenceField, l.evidence})
}

// decodeBlocklist returns what can be believed of the stored value, at worst an empty list,
// and an error that says what could not.
func decodeBlocklist(value []byte, now instant) (*blocklist, error) {
	document, err := openDocument("blocklist", value)
	if err != nil {
		return newBlocklist(nil, nil), err
	}
	blocks, err := entriesOf[entry](document, blocksField, now)
	evidence, alsoErr := entriesOf[sharedEvidence](document, evidenceField, now)
	return newBlocklist(blocks, evidence), cmp.Or(err, alsoErr)
}
