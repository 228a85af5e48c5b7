package sim

import (
	"container/heap"
	"time"
)

// queue holds what is still to happen, ordered by time. Events of the same
// moment happen in the order in which they were put there.
type queue struct {
	events events
	next   uint64
}

type event struct {
	at       time.Duration
	sequence uint64
	do       func() error
}

// at puts an event there for a moment of the run.
func (q *queue) at(moment time.Duration, do func() error) {
	heap.Push(&q.events, event{at: moment, sequence: q.next, do: do})
	q.next++
}

// pop takes the next event out, if there is one by the given moment.
func (q *queue) pop(by time.Duration) (event, bool) {
	if len(q.events) == 0 || q.events[0].at > by {
		return event{}, false
	}
	next := q.events[0]
	heap.Pop(&q.events)
	return next, true
}

// events implements heap.Interface.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].sequence < e[j].sequence
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) {
	if added, ok := x.(event); ok {
		*e = append(*e, added)
	}
}

func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}
