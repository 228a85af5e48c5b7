package chaos

import (
	"container/heap"
	"time"
)

// events are what is still to happen, in the order of time and then of scheduling.
type events struct {
	queue eventHeap
	order uint64
}

type event struct {
	when  time.Duration
	order uint64
	act   func()
}

func (e *events) at(when time.Duration, act func()) {
	e.order++
	heap.Push(&e.queue, event{when, e.order, act})
}

func (e *events) next() (event, bool) {
	if len(e.queue) == 0 {
		return event{}, false
	}
	return heap.Pop(&e.queue).(event), true //nolint:errcheck // nothing else is in it
}

// eventHeap implements heap.Interface.
type eventHeap []event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].when != h[j].when {
		return h[i].when < h[j].when
	}
	return h[i].order < h[j].order
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) } //nolint:errcheck // see next

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = event{}
	*h = (*h)[:last]
	return e
}
