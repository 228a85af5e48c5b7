package main

import "time"

// probation is how endpoints come back under `return: probation`, as one worker sees it: when a
// block is over, the endpoint gets one request at a time until one was answered in time. Its
// entry in the blocklist, which outlives the block by ten minutes, ends it too.
type probation struct {
	passed  map[entryKey]instant // the block that an answer in time has ended
	probing map[entryKey]bool    // one of this worker's requests is on its way
	swept   instant
}

// forgetPassed is longer than any entry stays in the blocklist.
const forgetPassed = 3 * time.Hour

func newProbation() *probation {
	return &probation{passed: map[entryKey]instant{}, probing: map[entryKey]bool{}}
}

// holds reports whether the endpoint's block is over and nothing was answered in time since.
func (p *probation) holds(e entry, now instant) bool {
	return !e.blocks(now) && now.since(e.Until) <= rememberExpired && p.passed[e.key()] != e.Since
}

// begin notes that a probe is on its way.
func (p *probation) begin(key entryKey) { p.probing[key] = true }

// end notes that the probe is over, whatever became of it; the zero key is none.
func (p *probation) end(key entryKey) { delete(p.probing, key) }

// pass notes that the endpoint was in time after the block that began then.
func (p *probation) pass(key entryKey, since, now instant) {
	if now.since(p.swept) > forgetPassed {
		p.swept = now
		for key, since := range p.passed {
			if now.since(since) > forgetPassed {
				delete(p.passed, key)
			}
		}
	}
	p.passed[key] = since
}

// probes reports whether endpoints are on probation after a block. Observing cannot tell what a
// probe would have met: its requests go wherever Envoy sends them.
func (r *rule) probes() bool { return r.returns == returnProbation && !r.observes() }
