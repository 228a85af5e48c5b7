package main

import "time"

// tallySlices is how finely the confirm window slides over a tally.
const tallySlices = 10

// tally counts an endpoint's finished requests of the confirm window, and the slow ones among
// them, in constant memory: in slices of a tenth of the window. The oldest slice is left behind
// as a whole, so that it looks back for the window and at most a tenth more.
type tally struct {
	slices [tallySlices + 1]count
	newest int     // the slice that is being filled
	ends   instant // when it is full; unknown = nothing was counted yet
}

type count struct{ finished, slow int }

// add counts a request that has finished, or has become late.
func (t *tally) add(slow bool, window time.Duration, now instant) {
	t.slide(window, now)
	t.slices[t.newest].finished++
	if slow {
		t.slices[t.newest].slow++
	}
}

// total returns what was counted within the window.
func (t *tally) total(window time.Duration, now instant) (sum count) {
	t.slide(window, now)
	for _, s := range t.slices {
		sum.finished += s.finished
		sum.slow += s.slow
	}
	return sum
}

// slide leaves behind what has become too old.
func (t *tally) slide(window time.Duration, now instant) {
	length := max(window/tallySlices, 1)
	if t.ends == unknown || now.since(t.ends) > window {
		*t = tally{ends: now.add(length)}
		return
	}
	for now >= t.ends {
		t.newest = (t.newest + 1) % len(t.slices)
		t.slices[t.newest] = count{}
		t.ends = t.ends.add(length)
	}
}

// isSlow reports whether that share is enough for a block (min_slow_percent, min_slow_requests).
func (r *rule) isSlow(c count) bool {
	return r.minSlowPercent == 0 ||
		c.finished >= r.minSlowRequests && c.slow*100 >= r.minSlowPercent*c.finished
}
