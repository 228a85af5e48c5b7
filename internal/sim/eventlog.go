package sim

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// eventLog writes one line an event: seconds since the start of the run, then
// what happened. Nothing in it depends on when or where the run was played.
type eventLog struct {
	to  *bufio.Writer
	now func() time.Duration
}

// newEventLog returns a log that writes nothing when there is no writer.
func newEventLog(to io.Writer, now func() time.Duration) *eventLog {
	if to == nil {
		return &eventLog{}
	}
	return &eventLog{to: bufio.NewWriter(to), now: now}
}

// line writes a line. An error of the writer turns up in flush.
func (l *eventLog) line(format string, args ...any) {
	if l.to == nil {
		return
	}
	_, _ = fmt.Fprintf(l.to, "%12.6f "+format+"\n", append([]any{l.now().Seconds()}, args...)...)
}

// flush hands on what is still buffered.
func (l *eventLog) flush() error {
	if l.to == nil {
		return nil
	}
	return l.to.Flush()
}
