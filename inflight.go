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
	probe     entryKey // the block that the override is a probe for; zero = it is none

	chosen    instant // when the endpoint was chosen
	completed instant // when the whole request was there; unknown = not yet
	phase     phase
	seen      sighting // of a later attempt

	deadline instant // when the threshold is reached
	lookAt   instant // when the tick looks at it: at the deadline, later if it could not see
	index    int     // its place among the requests in flight; notInFlight = none

	lastByte  instant       // of a response under way
	answered  instant       // of an answer that is late as a whole, after several attempts
	threshold time.Duration // that it was late by
	late      reason        // how that was measured
}

// phase is what a request waits for.
type phase uint8

const (
	phaseHeaders phase = iota // the response's
	phaseChunk                // the first one, which is what counts
	phaseStream               // it was in time; its bytes must not stall
	phaseEnd                  // it was late; how long the last attempt took is known at the end
	phaseSettled              // nothing
)

const notInFlight = -1

func newRequest(contextID uint32) request { return request{contextID: contextID, index: notInFlight} }

// begin starts the stream's account at the moment its endpoint is chosen.
func (q *request) begin(r *rule, now instant) { q.rule, q.chosen = r, now }

// open reports whether the answer can still be measured.
func (q *request) open() bool { return q.rule != nil && q.phase <= phaseChunk }

// timed reports whether the clock runs.
func (q *request) timed() bool { return q.open() && q.completed != unknown }

// expectsChunk reports whether the first chunk is still to come and will be measured.
func (q *request) expectsChunk() bool { return q.rule != nil && q.phase == phaseChunk }

// streams reports whether the response is under way and must not stall.
func (q *request) streams() bool { return q.rule != nil && q.phase == phaseStream }

// settle ends the account.
func (q *request) settle() { q.phase = phaseSettled }

// complete starts the clock: a client that uploads slowly is not a slow endpoint. It reports
// whether the clock has started now.
func (q *request) complete(now instant) bool {
	if !q.open() || q.completed != unknown || now == unknown {
		return false
	}
	q.run(now, q.rule.patience())
	return true
}

// run lets the clock run from a moment on.
func (q *request) run(from instant, threshold time.Duration) {
	q.completed, q.deadline = from, from.add(threshold)
	q.lookAt = q.deadline
}

// patience is the threshold of what the request waits for.
func (q *request) patience() time.Duration {
	if q.phase == phaseChunk {
		return q.rule.firstChunkThreshold
	}
	return q.rule.patience()
}

// waited is how long the answer has been waited for.
func (q *request) waited(now instant) time.Duration { return now.since(q.completed) }

// answer is told that an endpoint's response headers are here. byFirstChunk says that the first
// chunk is what counts, or the end of the stream if none comes; ended that the headers are the
// end. It reports whether the answer is measured now, and late.
func (q *request) answer(byFirstChunk, ended bool, now instant) (measured, late bool) {
	switch {
	case !q.timed(): // answered before it was complete: there is nothing to measure by
		q.settle()
		return false, false
	case !byFirstChunk:
		return true, q.measure(q.rule.slowThreshold, ended, now)
	case ended:
		return true, q.measure(q.rule.firstChunkThreshold, ended, now)
	}
	q.phase = phaseChunk
	q.run(q.completed, q.rule.firstChunkThreshold)
	return false, false
}

// chunk is told the chunk that was expected, or that the response ended without one. It
// reports whether that was late.
func (q *request) chunk(ended bool, now instant) (late bool) {
	return q.measure(q.rule.firstChunkThreshold, ended, now)
}

// measure reports whether the answer is late. One that was in time is watched from here on, if
// the rule has a stall_threshold and more is to come.
func (q *request) measure(threshold time.Duration, ended bool, now instant) (late bool) {
	late = q.waited(now) >= threshold
	if late || ended || q.rule.stallThreshold == 0 {
		q.settle()
		return late
	}
	q.phase = phaseStream
	q.bytes(now)
	q.lookAt = q.lastByte.add(q.rule.stallThreshold)
	return false
}

// bytes is told that the response goes on.
func (q *request) bytes(now instant) { q.lastByte = now }

// stalled reports whether the response has not gone on for as long as the rule allows.
func (q *request) stalled(now instant) bool {
	return q.streams() && now.since(q.lastByte) >= q.rule.stallThreshold
}

// awaitEnd leaves the sample of a late answer to the end of the stream.
func (q *request) awaitEnd(why reason, threshold time.Duration, now instant) {
	q.phase, q.late, q.threshold, q.answered = phaseEnd, why, threshold, now
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

// mostInFlight bounds a worker's memory, also when the ends of streams never come. Beyond it the
// request that would have been looked at first is no longer watched; its answer is still measured.
const mostInFlight = 50_000

// watch adds the request, or moves it when its lookAt has changed.
func (f *inflight) watch(q *request) {
	if q.index == notInFlight {
		if len(f.requests) == mostInFlight {
			f.forget(f.requests[0])
		}
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

// takeOverdue removes and returns the first request to look at, nil if there is none yet. A
// response that goes on moves its own look away, at the price of one step for each look.
func (f *inflight) takeOverdue(now instant) *request {
	for len(f.requests) > 0 && f.requests[0].lookAt <= now {
		q := f.requests[0]
		if q.streams() && !q.stalled(now) {
			q.lookAt = q.lastByte.add(q.rule.stallThreshold)
			heap.Fix(&f.requests, 0)
			continue
		}
		f.forget(q)
		return q
	}
	return nil
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
