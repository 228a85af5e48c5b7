package main

import (
	"slices"
	"time"
)

// forgetUnseen is how long an endpoint may give no sample before a worker forgets it; no
// confirm_window is longer. It bounds the memory (docs/design.md, Behavior 2).
const forgetUnseen = 10 * time.Minute

// maxConfirmCount is the limit of confirm_count, and so of what is worth keeping.
const maxConfirmCount = 20

// sample is one request that took at least its threshold.
type sample struct {
	started instant // when its endpoint was chosen: tells a new fault from an old one
	reached instant // when it counts: at the late answer, or when the threshold was reached
	probe   bool    // of an endpoint on probation: it confirms alone
}

// evidence is what one worker has counted against one endpoint under one rule.
type evidence struct {
	counted     []sample // at most maxConfirmCount, the latest; those of `evidence: shared` leave with their merge
	lastCounted instant  // opened the dedup window; unknown = none is open
	lastSeen    instant
	tally       *tally  // of all its requests, for rules that ask for their share
	since       instant // the latest block that is known: all that is here is younger
}

// admits reports whether the dedup window lets the sample count. The window opens with a
// counted sample only, so neither fast answers nor swallowed samples can hide a slow host.
func (e *evidence) admits(s sample, window time.Duration) bool {
	return s.probe || window == 0 || e.lastCounted == unknown || s.reached.since(e.lastCounted) >= window
}

// count adds the sample and forgets those that are older than the confirm window.
func (e *evidence) count(s sample, window time.Duration) {
	e.keep(func(old sample) bool { return s.reached.since(old.reached) <= window })
	if len(e.counted) == maxConfirmCount {
		e.counted = append(e.counted[:0], e.counted[1:]...)
	}
	e.counted = append(e.counted, s)
	e.lastCounted = max(e.lastCounted, s.reached)
}

// takeOver counts another's samples, and reports whether any of them counts.
func (e *evidence) takeOver(other *evidence, r *rule) (counts bool) {
	for _, s := range other.counted {
		if e.admits(s, r.dedupWindow) {
			e.count(s, r.confirmWindow)
			counts = true
		}
	}
	return counts
}

// keepStartedSince forgets the samples of requests that started before a block began: they
// are evidence of the fault that was already acted on.
func (e *evidence) keepStartedSince(since instant) {
	if since <= e.since {
		return
	}
	e.since, e.tally = since, nil
	e.keep(func(old sample) bool { return old.started >= since })
}

// finished notes a request for the rule's share of slow ones, if it asks for one.
func (e *evidence) finished(r *rule, slow bool, now instant) {
	if r.minSlowPercent == 0 {
		return
	}
	if e.tally == nil {
		e.tally = &tally{}
	}
	e.tally.add(slow, r.confirmWindow, now)
}

// isSlow reports whether the share of slow requests is enough for the rule.
func (e *evidence) isSlow(r *rule, now instant) bool {
	var finished count
	if e.tally != nil {
		finished = e.tally.total(r.confirmWindow, now)
	}
	return r.isSlow(finished)
}

func (e *evidence) hasProbe() bool {
	return slices.ContainsFunc(e.counted, func(s sample) bool { return s.probe })
}

// reset starts the count at zero; the dedup window stays as it is.
func (e *evidence) reset() { e.counted = e.counted[:0] }

func (e *evidence) keep(wanted func(sample) bool) {
	kept := e.counted[:0]
	for _, s := range e.counted {
		if wanted(s) {
			kept = append(kept, s)
		}
	}
	e.counted = kept
}

// ledger holds a worker's evidence. Counts and windows belong to a rule and an endpoint of a
// cluster; only blocks are common to all rules.
type ledger struct {
	byEndpoint map[ledgerKey]*evidence
	swept      instant
}

type ledgerKey struct {
	rule              *rule
	cluster, endpoint string
}

func newLedger() *ledger { return &ledger{byEndpoint: map[ledgerKey]*evidence{}} }

// of returns the evidence against the endpoint, empty at first.
func (l *ledger) of(key ledgerKey, now instant) *evidence {
	l.sweep(now)
	e := l.byEndpoint[key]
	if e == nil {
		e = &evidence{}
		l.byEndpoint[key] = e
	}
	e.lastSeen = now
	return e
}

// sweep forgets the endpoints that were not seen for a while, at most once a minute.
func (l *ledger) sweep(now instant) {
	if now.since(l.swept) < time.Minute {
		return
	}
	l.swept = now
	for key, e := range l.byEndpoint {
		if now.since(e.lastSeen) > forgetUnseen {
			delete(l.byEndpoint, key)
		}
	}
}
