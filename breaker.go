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
//  4. confirm_count of them block the endpoint, or extend its block, and the count restarts.
type breaker struct {
	store    *blockStore
	ledger   *ledger
	remember time.Duration  // how long entries outlive their block
	ttlLimit *time.Duration // the longest block_ttl of the configuration in force
}

// newBreaker returns a breaker that keeps entries for as long as a request which is older
// than the block can still be waiting: longestThreshold, the largest of all rules. ttlLimit
// belongs to the VM: a configuration that has been replaced finishes its streams, and must not
// block for longer than its successor would.
func newBreaker(store *blockStore, longestThreshold time.Duration, ttlLimit *time.Duration) *breaker {
	return &breaker{
		store: store, ledger: newLedger(), remember: max(rememberExpired, longestThreshold), ttlLimit: ttlLimit,
	}
}

// observe takes a sample of the endpoint. An error means that the blocklist could not be read
// or written; the evidence is kept, so that the next counted sample writes the block.
func (b *breaker) observe(r *rule, cluster, endpoint string, s sample, why reason, now instant) (verdict, error) {
	list, err := b.store.read(now)
	evidence := b.ledger.of(ledgerKey{r, cluster, endpoint}, now)
	if known, ok := list.find(cluster, endpoint, r.observes()); ok {
		evidence.keepStartedSince(known.Since)
		if s.started < known.Since {
			return verdict{outcome: outcomeStale}, err
		}
	}
	if !evidence.admits(s, r.dedupWindow) {
		return verdict{outcome: outcomeDeduplicated}, err
	}
	evidence.count(s, r.confirmWindow)
	if err != nil || len(evidence.counted) < r.confirmCount {
		return verdict{outcome: outcomeCounted}, err
	}
	about := entry{Cluster: cluster, Endpoint: endpoint, Reason: why, Observed: r.observes()}
	return b.block(r, about, evidence, now)
}

// block writes what the evidence amounts to. Another worker may have blocked the endpoint a
// moment ago, so the rule about old requests is applied again to the list that is written:
// two workers must not add two strikes for one fault. What is too little then is stale, for
// that block is younger than all the evidence.
func (b *breaker) block(r *rule, about entry, evidence *evidence, now instant) (verdict, error) {
	v := verdict{outcome: outcomeCounted}
	conflicts, err := b.store.update(now, func(list *blocklist) (*blocklist, bool) {
		known, _ := list.find(about.Cluster, about.Endpoint, about.Observed)
		evidence.keepStartedSince(known.Since)
		if len(evidence.counted) < r.confirmCount {
			v.outcome = outcomeStale
			return nil, false
		}
		v.entry, v.outcome = next(known, about, min(r.blockTTL, *b.ttlLimit), now)
		return list.with(v.entry, now, b.remember), true
	})
	v.conflicts = conflicts
	if err != nil {
		return verdict{outcome: outcomeCounted, conflicts: conflicts}, err
	}
	if v.outcome != outcomeStale {
		evidence.reset()
	}
	return v, nil
}

// next returns the entry that follows known, which is empty for an endpoint never blocked.
// No block ever gets shorter.
func next(known, about entry, ttl time.Duration, now instant) (entry, outcome) {
	if known.blocks(now) {
		known.Until = max(known.Until, now.add(ttl))
		return known, outcomeExtended
	}
	about.Since, about.Until, about.Strikes = now, now.add(ttl), 1
	if now.since(known.Until) <= rememberExpired {
		about.Strikes = min(about.Strikes+known.Strikes, mostStrikes)
	}
	return about, outcomeBlocked
}

// observes reports whether the rule's blocks are only observed: they steer nothing, and
// enforced ones know nothing of them.
func (r *rule) observes() bool { return r.mode == modeObserve }
