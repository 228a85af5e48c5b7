package main

import (
	"container/heap"
	"time"
)

// request is the clock of one stream (docs/design.md, Behavior 1). It yields at most one sample:
// once it is settled, nothing that happens to the stream counts any more.
type request struct {
	rule      *rule  // nil: the stream is left alone
	contextID uint32 // of the stream, for the tick
	override  placement

	chosen      instant // when the endpoint was chosen
	completed   instant // when the whole request was there; unknown = not yet
	awaitsChunk bool    // the headers are here, but the first chunk is what counts
	settled     bool

	deadline instant // when the threshold is reached
	lookAt   instant // when the tick looks at it: at the deadline, later if it could not see
	index    int     // its place among the requests in flight; notInFlight = none
}

const notInFlight = -1

func newRequest(contextID uint32) request { return request{contextID: contextID, index: notInFlight} }

// begin starts the stream's account at the moment its endpoint is chosen.
func (q *request) begin(r *rule, now instant) { q.rule, q.chosen = r, now }

// timed reports whether the clock runs.
func (q *request) timed() bool { return q.open() && q.completed != unknown }

// open reports whether the answer can still be measured.
func (q *request) open() bool { return q.rule != nil && !q.settled }

// complete starts the clock: a client that uploads slowly is not a slow endpoint. It reports
// whether the clock has started now.
func (q *request) complete(now instant) bool {
	if !q.open() || q.completed != unknown || now == unknown {
		return false
	}
	q.run(now, q.patience())
	return true
}

// run lets the clock run from a moment on.
func (q *request) run(from instant, threshold time.Duration) {
	q.completed, q.deadline = from, from.add(threshold)
	q.lookAt = q.deadline
}

// patience is the threshold while nothing has come back. `auto` cannot know yet which of the
// two will count, and waits for the longer one.
func (q *request) patience() time.Duration {
	switch q.rule.measure {
	case measureHeaders:
		return q.rule.slowThreshold
	case measureFirstChunk:
		return q.rule.firstChunkThreshold
	default:
		return max(q.rule.slowThreshold, q.rule.firstChunkThreshold)
	}
}

// answer is told that the response headers are here. byFirstChunk says that the first chunk is
// what counts, or the end of the stream if none comes; ended that the headers are the end. It
// reports whether the answer is measured, and late.
func (q *request) answer(byFirstChunk, ended bool, now instant) (late bool) {
	switch {
	case !q.timed(): // answered before it was complete: there is nothing to measure by
		q.settled = true
		return false
	case !byFirstChunk:
		return q.measured(q.rule.slowThreshold, now)
	case ended:
		return q.measured(q.rule.firstChunkThreshold, now)
	}
	q.awaitsChunk = true
	q.run(q.completed, q.rule.firstChunkThreshold)
	return false
}

// expectsChunk reports whether the first chunk is still to come and will be measured.
func (q *request) expectsChunk() bool { return q.awaitsChunk && !q.settled }

// chunk is told the chunk that was expected, or that the response ended without one. It
// reports whether that was late.
func (q *request) chunk(now instant) (late bool) {
	return q.measured(q.rule.firstChunkThreshold, now)
}

func (q *request) measured(threshold time.Duration, now instant) (late bool) {
	q.settled = true
	return now.since(q.completed) >= threshold
}

// restart lets the clock run anew: no endpoint has had the request so far.
func (q *request) restart(now instant) { q.run(now, q.deadline.since(q.completed)) }

// lookAgain puts the next look off, and nothing else: this one saw nothing.
func (q *request) lookAgain(now instant) { q.lookAt = now.add(time.Second) }

// overdue reports whether the threshold was reached with nothing measured.
func (q *request) overdue(now instant) bool { return q.timed() && now >= q.deadline }

// inflight holds the requests of one worker whose clocks run, the earliest to look at first, so
// that a look costs nothing for the requests that are not late.
type inflight struct{ requests requestHeap }

// watch adds the request, or moves it when its lookAt has changed.
func (f *inflight) watch(q *request) {
	if q.index == notInFlight {
		heap.Push(&f.requests, q)
	} else {
		heap.Fix(&f.requests, q.index)
	}
}

// forget removes the request, if it is there.
func (f *inflight) forget(q *request) {
	if q.index != notInFlight {
		heap.Remove(&f.requests, q.index)
	}
}

// takeOverdue removes and returns the first request to look at, nil if there is none yet.
func (f *inflight) takeOverdue(now instant) *request {
	if len(f.requests) == 0 || f.requests[0].lookAt > now {
		return nil
	}
	q := f.requests[0]
	f.forget(q)
	return q
}

// requestHeap implements heap.Interface over the moments to look.
type requestHeap []*request

func (h requestHeap) Len() int           { return len(h) }
func (h requestHeap) Less(i, j int) bool { return h[i].lookAt < h[j].lookAt }

func (h requestHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *requestHeap) Push(x any) {
	q := x.(*request) //nolint:errcheck // container/heap hands over what watch gave it
	q.index = len(*h)
	*h = append(*h, q)
}

func (h *requestHeap) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	q.index = notInFlight
	return q
}
