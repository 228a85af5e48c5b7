package main

import (
	"fmt"
	"strings"
	"time"
)

// Keywords of the log lines, fixed so that alarms and searches can rely on them.
const (
	logBlock  = "block"
	logExtend = "extend"
	logBypass = "bypass"
	logConfig = "config"
	logError  = "error"
	logPanic  = "panic"
)

// logEvery is how often a line that may come with every request is written.
const logEvery = 10 * time.Second

// logs writes the plugin's lines, `endpoint-breaker <keyword> key=value …`, as warnings: the
// level that gateways show by default. Only what is expected is information. It never panics,
// and never sees request content.
type logs struct {
	warn, info func(string)
	written    map[logSubject]instant // the last limited line about a subject
	suppressed map[logSubject]int     // since then
}

// logSubject is what limited lines hide each other by: a cluster, or which call failed.
type logSubject struct{ keyword, subject string }

func newLogs(warn, info func(string)) *logs {
	return &logs{warn: warn, info: info, written: map[logSubject]instant{}, suppressed: map[logSubject]int{}}
}

// expected writes a line about something that happens rarely and is as it should be.
func (l *logs) expected(keyword, format string, args ...any) {
	write(l.info, keyword, format, args)
}

// always writes a line about something that happens rarely.
func (l *logs) always(keyword, format string, args ...any) {
	write(l.warn, keyword, format, args)
}

func write(to func(string), keyword, format string, args []any) {
	// A line that the host does not take is no reason to fail the request.
	defer func() { _ = recover() }()
	text := pluginName + " " + keyword + " " + fmt.Sprintf(format, args...)
	to(oneLine(text))
}

// limited writes a line at most every logEvery for the keyword and subject, of which there
// must be few, and then says how many it has left out.
func (l *logs) limited(keyword, subject string, now instant, format string, args ...any) {
	about := logSubject{keyword, subject}
	last, before := l.written[about]
	if before && now.since(last) < logEvery {
		l.suppressed[about]++
		return
	}
	if left := l.suppressed[about]; left > 0 {
		format, args = format+" suppressed=%d", append(args, left)
	}
	l.written[about], l.suppressed[about] = now, 0
	l.always(keyword, format, args...)
}

// oneLine keeps a line what it is, whatever an address or an error brings along.
func oneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text)
}
