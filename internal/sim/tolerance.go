package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file is how a run is judged whose moments are not exact.
//
// Every moment and every duration that a file states may be missed by the tolerance. A window
// begins and ends with it, so that what happens near its edges may count or not: a number of
// things is then a range, from those that count in any case to those that can, and an
// expectation holds if one of the range fits. Where there is no edge, as in a window over the
// whole run, and where the file's own traffic is counted as it arrives, there is no range. None
// and some are never a matter of the tolerance: what must not happen must not.

// Tolerance is by how much the moments and durations of a run can be wrong. A run in virtual time
// is exact.
type Tolerance struct {
	// Base is for everything that is late, and for durations.
	Base time.Duration
	// Round comes on top for the first block, twice for the second block of the same endpoint, and
	// so on: each can only be found when the one before is over.
	Round time.Duration
}

// toleranceAt is by how much a moment can be wrong.
func (r *Result) toleranceAt(moment time.Duration) time.Duration {
	if r.Tolerance == (Tolerance{}) {
		return 0
	}
	begun, most := map[string]int{}, 0
	for _, b := range r.Blocks {
		if b.Seen < moment {
			begun[b.Endpoint]++
			most = max(most, begun[b.Endpoint])
		}
	}
	return r.Tolerance.Base + time.Duration(most+1)*r.Tolerance.Round
}

// margin is how far something has to stay within what the file says to count.
type margin struct {
	r     *Result
	times int // the tolerance
}

// surely is the margin of what counts whatever the tolerance, possibly that of what can count,
// and none that of what has been seen to.
func (r *Result) surely() margin   { return margin{r, 1} }
func (r *Result) possibly() margin { return margin{r, -1} }
func (r *Result) none() margin     { return margin{r, 0} }

func (m margin) at(moment time.Duration) time.Duration {
	return time.Duration(m.times) * m.r.toleranceAt(moment)
}

func (m margin) ofDurations() time.Duration { return time.Duration(m.times) * m.r.Tolerance.Base }

// span is a window with a margin.
type span struct{ from, to time.Duration }

// within is the window without the margin at its edges. The begin and the end of the run are no
// edges.
func (w Window) within(m margin) span {
	s := span{0, Never}
	if w.From > 0 {
		s.from = w.from() + m.at(w.from())
	}
	if w.To != nil {
		s.to = w.to() - m.at(w.to())
	}
	return s
}

func (s span) holds(moment time.Duration) bool { return moment >= s.from && moment < s.to }

// tally is a number of things, and the range that it is in.
type tally struct{ least, seen, most int64 }

// exactly is the tally of what can be counted exactly.
func exactly(n int64) tally { return tally{n, n, n} }

// String shows the range where there is one.
func (t tally) String() string {
	if t.least == t.most {
		return fmt.Sprint(t.seen)
	}
	return fmt.Sprintf("%d (%d to %d, by the tolerance)", t.seen, t.least, t.most)
}

// tally counts with each margin.
func (r *Result) tally(count func(margin) int64) tally {
	return tally{count(r.surely()), count(r.none()), count(r.possibly())}
}

// tallyRequests counts the requests that are something with each margin.
func (r *Result) tallyRequests(with func(margin) func(*Request) bool) tally {
	return r.tally(func(m margin) int64 { return r.count(with(m)) })
}

// tallyOfMetric is a metric's value, by its short or full name. Those that count requests as
// long as something lasts can be wrong by what arrives in the tolerance at either end of it.
func (r *Result) tallyOfMetric(name string, value int64) tally {
	short := name[strings.LastIndex(name, ".")+1:]
	if value == 0 || !countsRequests(short) {
		return exactly(value)
	}
	off := r.mostArrivalsIn(2 * r.toleranceAt(r.end()))
	return tally{max(value-off, 1), value, value + off}
}

func countsRequests(metric string) bool {
	return slices.ContainsFunc([]string{"overrides_", "bypasses_", "capped_requests_"}, func(of string) bool {
		return strings.HasPrefix(metric, of)
	})
}

// mostArrivalsIn is how many requests arrive at most in a time that is so long.
func (r *Result) mostArrivalsIn(long time.Duration) int64 {
	most, first := 0, 0
	for i, q := range r.Requests {
		for first <= i && q.Arrived-r.Requests[first].Arrived >= long {
			first++
		}
		most = max(most, i-first+1)
	}
	return int64(most)
}

// hold reports whether a number of the range fits the bounds.
func (b Bounds) hold(t tally) bool {
	least, most := t.least, t.most
	if b.Exactly != nil {
		least, most = max(least, *b.Exactly), min(most, *b.Exactly)
	}
	if b.AtLeast != nil {
		least = max(least, *b.AtLeast)
	}
	if b.AtMost != nil {
		most = min(most, *b.AtMost)
	}
	return least <= most
}

// share is the part that one number is of it and another together, as the range that the
// ranges of both allow.
func (t tally) share(others tally) (least, seen, most Percent) {
	part := func(n, of int64) Percent { return Percent(100 * float64(n) / float64(max(n+of, 1))) }
	return part(t.least, others.most), part(t.seen, others.seen), part(t.most, others.least)
}
