package demo

import (
	"fmt"
	"time"
)

// EventKind tells what happened.
type EventKind int

// What may happen, but for EventLog in the order of the story.
const (
	EventLog    EventKind = iota // a line of the plugin's own log
	EventFault                   // the endpoint turns slow
	EventBlock                   // the plugin blocks it
	EventHeal                    // it is well again
	EventReturn                  // the block is over
	EventGaveUp                  // no block came; the story ends here
)

// Event is one moment of the story.
type Event struct {
	At   time.Duration // since the start of the load; 0 = before it
	Kind EventKind
	Text string
}

// Stamp is what stands before the text in a line of the log: the time, or as many blanks.
func (e Event) Stamp() string {
	if e.Kind == EventLog {
		return "             "
	}
	return fmt.Sprintf("%7.1f s  ► ", e.At.Seconds())
}

// String is the event as a line of the log.
func (e Event) String() string { return e.Stamp() + e.Text }

func faultEvent(endpoint string, answer time.Duration) (EventKind, string) {
	return EventFault, fmt.Sprintf("%s turns slow: answers take %s now, health checks stay green", endpoint, answer)
}

func blockEvent(b Block) (EventKind, string) {
	return EventBlock, fmt.Sprintf("the plugin blocks %s until %s (reason %s, strike %d)", b.Endpoint, seconds(b.Until), b.Reason, b.Strikes)
}

func healEvent(endpoint string) (EventKind, string) {
	return EventHeal, endpoint + " heals; the plugin cannot know yet"
}

func returnEvent(endpoint string) (EventKind, string) {
	return EventReturn, fmt.Sprintf("the block is over: %s is an endpoint like any other again", endpoint)
}

func gaveUpEvent(endpoint string, after time.Duration) (EventKind, string) {
	return EventGaveUp, fmt.Sprintf("%s is not blocked after %s: giving up", endpoint, seconds(after))
}
