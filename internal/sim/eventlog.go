package sim

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// EventLog writes one line an event: seconds since the start of the run, then
// what happened. Nothing in it depends on when or where the run was played.
type EventLog struct {
	to  *bufio.Writer
	now func() time.Duration
}

// NewEventLog returns a log that asks for the time of the run at every line, and writes nothing
// when there is no writer.
func NewEventLog(to io.Writer, now func() time.Duration) *EventLog {
	if to == nil {
		return &EventLog{}
	}
	return &EventLog{to: bufio.NewWriter(to), now: now}
}

// Line writes a line. An error of the writer turns up in Flush.
func (l *EventLog) Line(format string, args ...any) {
	if l.to == nil {
		return
	}
	_, _ = fmt.Fprintf(l.to, "%12.6f "+format+"\n", append([]any{l.now().Seconds()}, args...)...)
}

// Flush hands on what is still buffered.
func (l *EventLog) Flush() error {
	if l.to == nil {
		return nil
	}
	return l.to.Flush()
}
