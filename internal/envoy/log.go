package envoy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// logFormat is one that parseLogLine understands. Envoy escapes what would break a line.
const logFormat = "%Y-%m-%dT%H:%M:%S.%f%z %t %l %n %v"

// LogLine is one message in Envoy's log. Below "warning" only the component wasm, which is where a
// plugin's lines come, is logged.
type LogLine struct {
	// Time is Envoy's own stamp, to the microsecond.
	Time time.Time
	// Thread tells the workers apart, and the main thread.
	Thread int
	// Level is Envoy's word: info, warning, error, critical.
	Level string
	// Component is the part of Envoy that speaks: wasm, config, upstream, main, …
	// Thread, Level and Component are zero for what is no message of Envoy's logger.
	Component string
	// Message may have several lines, for example the stack of a panic in the plugin.
	Message string
}

// Log returns all lines so far.
func (e *Envoy) Log() []LogLine { return e.log.copied() }

// WaitForLog returns the first line, from the start of Envoy on, whose message contains a text, as
// soon as there is one.
func (e *Envoy) WaitForLog(ctx context.Context, text string) (LogLine, error) {
	line, err := e.log.wait(ctx, e.process.done, 0, func(l LogLine) bool { return strings.Contains(l.Message, text) })
	if err != nil {
		return LogLine{}, fmt.Errorf("waiting for %q in Envoy's log: %w%s", text, err, e.log.tail())
	}
	return line, nil
}

// logBook reads the log and remembers it.
type logBook struct {
	lineSplitter
	panics *panicJoiner
	onLine func(LogLine)

	mu    sync.Mutex
	lines []LogLine
	more  chan struct{} // closed, and replaced, when a line is added
}

func newLogBook(onLine func(LogLine)) *logBook {
	b := &logBook{onLine: onLine, more: make(chan struct{})}
	b.panics = newPanicJoiner(b.add)
	b.lineSplitter.line = func(raw []byte) { b.panics.add(parseLogLine(string(raw))) }
	return b
}

// end is called when nothing more will be written.
func (b *logBook) end() {
	b.lineSplitter.end()
	b.panics.end()
}

func (b *logBook) add(line LogLine) {
	b.mu.Lock()
	b.lines = append(b.lines, line)
	close(b.more)
	b.more = make(chan struct{})
	b.mu.Unlock()
	if b.onLine != nil {
		b.onLine(line)
	}
}

func (b *logBook) copied() []LogLine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lines)
}

func (b *logBook) length() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lines)
}

// from returns the lines from an index on, and what is closed when there are more.
func (b *logBook) from(index int) ([]LogLine, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines[index:len(b.lines):len(b.lines)], b.more
}

// wait returns the first line from an index on that matches.
func (b *logBook) wait(ctx context.Context, ended <-chan struct{}, index int, matches func(LogLine) bool) (LogLine, error) {
	for gone := false; ; {
		lines, more := b.from(index)
		if i := slices.IndexFunc(lines, matches); i >= 0 {
			return lines[i], nil
		}
		if gone {
			return LogLine{}, errors.New("Envoy has ended")
		}
		index += len(lines)
		select {
		case <-more:
		case <-ended:
			gone = true // all that it wrote has been read; look once more
		case <-ctx.Done():
			return LogLine{}, ctx.Err()
		}
	}
}

// tail returns the end of the log for an error message.
func (b *logBook) tail() string {
	lines := b.copied()
	var text strings.Builder
	for _, l := range lines[max(0, len(lines)-10):] {
		fmt.Fprintf(&text, "\n  %s %s: %s", l.Level, l.Component, strings.TrimSpace(l.Message))
	}
	if text.Len() == 0 {
		return ""
	}
	return "\nthe end of its log:" + text.String()
}

func parseLogLine(raw string) LogLine {
	other := LogLine{Time: time.Now(), Message: raw}
	parts := strings.SplitN(raw, " ", 5)
	if len(parts) < 5 {
		return other
	}
	at, err := time.Parse(time.RFC3339Nano, parts[0])
	if err != nil {
		return other
	}
	thread, err := strconv.Atoi(parts[1])
	if err != nil {
		return other
	}
	message := strings.TrimRight(unescape(parts[4]), "\n")
	return LogLine{Time: at, Thread: thread, Level: parts[2], Component: parts[3], Message: message}
}

// unescape undoes Envoy's escapes, which are C's. Go's differ in the apostrophe only.
func unescape(text string) string {
	plain, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `\'`, `'`) + `"`)
	if err != nil {
		return text
	}
	return plain
}
