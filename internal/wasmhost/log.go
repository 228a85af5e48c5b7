package wasmhost

import (
	"bytes"
	"fmt"
)

// LogLevel is the level of a log line, with the ABI's numbers.
type LogLevel uint32

// The levels that a guest may log at.
const (
	LogTrace    LogLevel = 0
	LogDebug    LogLevel = 1
	LogInfo     LogLevel = 2
	LogWarn     LogLevel = 3
	LogError    LogLevel = 4
	LogCritical LogLevel = 5
)

// String gives the level's name as Envoy prints it.
func (l LogLevel) String() string {
	names := [...]string{"trace", "debug", "info", "warning", "error", "critical"}
	if int(l) >= len(names) {
		return fmt.Sprintf("level %d", uint32(l))
	}
	return names[l]
}

// LogSource tells who wrote a log line.
type LogSource string

// The writers of log lines.
const (
	FromPlugin LogSource = "plugin" // proxy_log
	FromStdout LogSource = "stdout" // the guest's file descriptor 1, split at newlines
	FromStderr LogSource = "stderr" // the guest's file descriptor 2: the Go runtime's panic trace ends up here
	FromHost   LogSource = "host"   // this package, about a trap or about what it does not model
)

// BaseVM is the worker index of the base VM in log lines and faults.
const BaseVM = -1

// LogLine is one line of the gateway's log. It holds no time of its own, so
// two runs with the same seed and the same calls give equal lines.
type LogLine struct {
	Worker  int       // index of the worker, or BaseVM
	Level   LogLevel  // lines from stdout are LogInfo, from stderr LogError
	Source  LogSource // who wrote it
	Phase   string    // the callback that was running, such as proxy_on_tick; "" outside of one
	Message string    // without the newline
}

// String prints the line as "[level] [worker 0] [plugin] message".
func (l LogLine) String() string {
	who := fmt.Sprintf("worker %d", l.Worker)
	if l.Worker == BaseVM {
		who = "base"
	}
	return fmt.Sprintf("[%s] [%s] [%s] %s", l.Level, who, l.Source, l.Message)
}

// lineWriter turns what a guest writes to stdout or stderr into log lines.
type lineWriter struct {
	emit    func(message string)
	pending []byte
}

// Write passes every complete line on and keeps the rest.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	for {
		line, rest, found := bytes.Cut(w.pending, []byte{'\n'})
		if !found {
			return len(p), nil
		}
		w.emit(string(line))
		w.pending = rest
	}
}

// flush passes on what the guest wrote without a newline at its end.
func (w *lineWriter) flush() {
	if len(w.pending) == 0 {
		return
	}
	w.emit(string(w.pending))
	w.pending = nil
}
