package envoy

import "strings"

// panicJoiner makes one line of a panic in a plugin written in Go. Its runtime writes the message
// and the stack in many small pieces, and Envoy logs each as a line of its own, without the line
// break that it may end in.
type panicJoiner struct {
	emit func(LogLine)
	open map[int]*LogLine // by thread; the pieces so far
}

func newPanicJoiner(emit func(LogLine)) *panicJoiner {
	return &panicJoiner{emit: emit, open: map[int]*LogLine{}}
}

// add takes the next line. A panic is complete with the thread's first line that is no piece of
// it; there is always one, about the VM that has trapped.
func (j *panicJoiner) add(l LogLine) {
	who, text := errorOutput(l)
	if open := j.open[l.Thread]; open != nil {
		if who != "" && strings.HasPrefix(open.Message, who) {
			open.Message += piece(text)
			return
		}
		j.finish(l.Thread)
	}
	if who != "" && (strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")) {
		j.open[l.Thread] = &l
		return
	}
	j.emit(l)
}

func (j *panicJoiner) finish(thread int) {
	l := j.open[thread]
	delete(j.open, thread)
	l.Message = strings.TrimSpace(l.Message)
	j.emit(*l)
}

// end hands on what is incomplete.
func (j *panicJoiner) end() {
	for thread := range j.open {
		j.finish(thread)
	}
}

// errorOutput splits what a VM has written to its standard error; who is empty for other lines.
func errorOutput(l LogLine) (who, text string) {
	if l.Component != "wasm" || l.Level != "error" || !strings.HasPrefix(l.Message, "wasm log ") {
		return "", ""
	}
	who, text, found := strings.Cut(l.Message, ": ")
	if !found {
		return "", ""
	}
	return who + ": ", text
}

// piece puts the line break back. It is known to be there when the piece is nothing else, and
// behind what ends a line in Go's stacks: "goroutine 1 [running]:" and "main.f(0x1)".
func piece(text string) string {
	switch text {
	case "", "]:", ")":
		return text + "\n"
	}
	return text
}
