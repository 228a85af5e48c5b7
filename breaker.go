package main

import "time"

// outcome is what became of one sample.
type outcome uint8

const (
	outcomeStale        outcome = iota // the request started before the latest block: an old fault
	outcomeDeduplicated                // swallowed by the dedup window
	outcomeCounted                     // evidence, but not enough yet
	outcomeBlocked                     // confirmed: the endpoint is blocked
	outcomeExtended                    // confirmed while blocked: the block reaches further
)

// verdict tells the caller, who counts and logs it, what a sample led to.
type verdict struct {
	outcome   outcome
	entry     entry // as written, when blocked or extended
	confirmed int   // by so many samples
	conflicts int   // CAS races lost on the way
}

// breaker turns samples into blocks. It belongs to one worker and is used inside one host
// callback at a time.
//
// It decides in this order (docs/design.md, Behavior 2 and 3):
//
//  1. A request that started before the endpoint's latest block is evidence of the old fault:
//     it counts for nothing, and what was counted before that block is forgotten.
//  2. One sample counts per dedup window and endpoint.
//  3. Counted samples older than the confirm window are forgotten.
//  4. confirm_count of them, if enough of the endpoint's requests are slow, block the endpoint,
//     or extend its block, and the count restarts. A probe confirms alone.
//
// Under `evidence: shared` steps 2 to 4 are taken once more, on what all workers have counted.
type breaker struct {
	store    *blockStore
	ledger   *ledger
	remember time.Duration  // how long entries outlive their block
	ttlLimit *time.Duration // the longest block of the configuration in force, see ttlLimits
	random   func() float64 // from 0 up to 1
}

// newBreaker returns a breaker that keeps entries for as long as a request which is older
// than the block can still be waiting: longestThreshold, the largest of all rules. ttlLimit
// may become another one when the configuration is replaced.
func newBreaker(store *blockStore, longestThreshold time.Duration, ttlLimit *time.Duration, random func() float64) *breaker {
	return &breaker{
		store: store, ledger: newLedger(), remember: max(rememberExpired, longestThreshold), ttlLimit: ttlLimit, random: random,
	}
}

// inTime takes an answer of the endpoint that was not late. Only rules with min_slow_percent
// need to know.
func (b *breaker) inTime(r *rule, cluster, endpoint string, now instant) {
	evidence := b.ledger.of(ledgerKey{r, cluster, endpoint}, now)
	known, _ := b.store.parsed.find(cluster, endpoint, r.observes()) // as of the latest request: no host call
	evidence.keepStartedSince(known.Since)
	evidence.finished(r, false, now)
}

// observe takes a sample of the endpoint. An error means that the blocklist could not be read
// or written; the evidence is kept, so that the next counted sample writes the block.
func (b *breaker) observe(r *rule, cluster, endpoint string, s sample, why reason, now instant) (verdict, error) {
	list, err := b.store.read(now)
	evidence := b.ledger.of(ledgerKey{r, cluster, endpoint}, now)
	known, _ := list.find(cluster, endpoint, r.observes())
	evidence.keepStartedSince(known.Since)
	if s.started < known.Since {
		return verdict{outcome: outcomeStale}, err
	}
	evidence.finished(r, true, now)
	if !evidence.admits(s, r.dedupWindow) {
		return verdict{outcome: outcomeDeduplicated}, err
	}
	evidence.count(s, r.confirmWindow)
	about := entry{Cluster: cluster, Endpoint: endpoint, Reason: why, Observed: r.observes()}
	switch {
	case err != nil:
		return verdict{outcome: outcomeCounted}, err
	case r.evidence == evidenceShared:
		return b.merge(r, about, evidence, now)
	case !r.confirmed(evidence, evidence, now):
		return verdict{outcome: outcomeCounted}, nil
	}
	return b.block(r, about, evidence, now)
}

// confirmed reports whether the samples that were counted are enough, and the share of slow
// requests that this worker has seen. With a share to reach they may have to wait for each other.
// A probe of the worker's own is enough by itself.
func (r *rule) confirmed(counted, own *evidence, now instant) bool {
	return own.hasProbe() || len(counted.counted) >= r.confirmCount && own.isSlow(r, now)
}

// block writes what the evidence amounts to. Another worker may have blocked the endpoint a
// moment ago, so the rule about old requests is applied again to the list that is written:
// two workers must not add two strikes for one fault. What is too little then is stale, for
// that block is younger than all the evidence.
func (b *breaker) block(r *rule, about entry, evidence *evidence, now instant) (verdict, error) {
	return b.write(evidence, now, func(list *blocklist) (*blocklist, verdict) {
		known, _ := list.find(about.Cluster, about.Endpoint, about.Observed)
		evidence.keepStartedSince(known.Since)
		if !r.confirmed(evidence, evidence, now) {
			return nil, verdict{outcome: outcomeStale}
		}
		v := b.next(r, known, about, now)
		v.confirmed = len(evidence.counted)
		return list.with(v.entry, now, b.remember), v
	})
}

// merge adds the worker's evidence to what all have counted, and writes what that amounts to.
func (b *breaker) merge(r *rule, about entry, own *evidence, now instant) (verdict, error) {
	return b.write(own, now, func(list *blocklist) (*blocklist, verdict) {
		known, _ := list.find(about.Cluster, about.Endpoint, about.Observed)
		own.keepStartedSince(known.Since)
		if len(own.counted) == 0 {
			return nil, verdict{outcome: outcomeStale}
		}
		all := list.evidenceOf(about.Cluster, about.Endpoint, r.id)
		all.keepStartedSince(known.Since)
		counts := all.takeOver(own, r)
		own.lastCounted = all.lastCounted // the window is common to all; what it swallows opens none
		if !counts {
			return nil, verdict{outcome: outcomeDeduplicated}
		}
		v := verdict{outcome: outcomeCounted}
		if r.confirmed(all, own, now) {
			v = b.next(r, known, about, now)
			v.confirmed = len(all.counted)
			all.reset()
			list = list.with(v.entry, now, b.remember)
		}
		return list.withEvidence(about.Cluster, about.Endpoint, r.id, all, now), v
	})
}

// write writes the change, if there is one, and with it the evidence is used up. What was not
// written keeps it.
func (b *breaker) write(evidence *evidence, now instant, change func(*blocklist) (*blocklist, verdict)) (verdict, error) {
	var v verdict
	conflicts, err := b.store.update(now, func(list *blocklist) (*blocklist, bool) {
		var next *blocklist
		next, v = change(list)
		return next, next != nil
	})
	v.conflicts = conflicts
	if err != nil {
		return verdict{outcome: outcomeCounted, conflicts: conflicts}, err
	}
	if v.outcome != outcomeStale {
		evidence.reset()
		evidence.keepStartedSince(v.entry.Since)
	}
	return v, nil
}

// next returns the verdict that follows known, which is empty for an endpoint never blocked.
// No block ever gets shorter.
func (b *breaker) next(r *rule, known, about entry, now instant) verdict {
	if known.blocks(now) {
		known.Until = max(known.Until, now.add(b.ttl(r, known.Strikes)))
		return verdict{outcome: outcomeExtended, entry: known}
	}
	about.Strikes = 1
	if now.since(known.Until) <= rememberExpired {
		about.Strikes = min(about.Strikes+known.Strikes, mostStrikes)
	}
	about.Since, about.Until = now, now.add(b.ttl(r, about.Strikes))
	return verdict{outcome: outcomeBlocked, entry: about}
}

func (b *breaker) ttl(r *rule, strikes int) time.Duration {
	return min(r.ttl(strikes, b.random()), *b.ttlLimit)
}

// observes reports whether the rule's blocks are only observed: they steer nothing, and
// enforced ones know nothing of them.
func (r *rule) observes() bool { return r.mode == modeObserve }
