package liveview

import (
	"fmt"
	"math"
	"strings"
	"time"

	"endpoint-breaker/internal/demo"
)

// The cells to the left and to the right of the course.
const (
	addressWidth = 20 // "  127.0.0.1:65535" and air
	oldestWidth  = 16 // "  oldest 123.4 s"
)

// courseSteps is how many cells the whole story gets.
func courseSteps(width int) int { return width - addressWidth - oldestWidth }

// courseUntil is the time at the right end: the story's end, or now when it lasts longer.
func courseUntil(s demo.State) time.Duration { return max(s.Setting.Plan.Duration(), s.At) }

// course is the address, then the story from left to right: how long the slowest request
// of each moment had waited, on a logarithmic scale, and at the end the one that has now
// waited longest.
func course(s demo.State, endpoint, width int) line {
	e, plan := s.Endpoints[endpoint], s.Setting.Plan
	steps, until := courseSteps(width), courseUntil(s)
	out := text(faint, fmt.Sprintf("  %-*s", addressWidth-2, e.Address))
	now := int(int64(steps) * int64(s.At) / int64(max(until, 1)))
	for i, longest := range s.Longest(endpoint, until, steps) {
		switch {
		case longest >= plan.SlowThreshold:
			out = append(out, span{level(longest, plan), blocked})
		case longest > 0:
			out = append(out, span{level(longest, plan), healthy})
		case i <= now:
			out = append(out, span{"·", faint})
		default:
			out = append(out, span{" ", plain})
		}
	}
	if e.Waiting > 0 {
		out = append(out, span{"  oldest " + seconds(e.Oldest), faint})
	}
	return out
}

// level is a bar between a healthy first token and the slow answer.
func level(d time.Duration, plan demo.Plan) string {
	bars := []rune(lowerBlocks)
	low, high := plan.FirstToken.Seconds(), plan.SlowAnswer.Seconds()
	height := math.Log(d.Seconds()/low) / math.Log(high/low) * float64(len(bars)-1)
	return string(bars[min(max(int(math.Round(height)), 0), len(bars)-1)])
}

// marks is the line under the courses: when what happened.
func marks(s demo.State, width int) line {
	steps, until := courseSteps(width), courseUntil(s)
	cells := []rune(strings.Repeat(" ", steps+oldestWidth))
	at := map[demo.EventKind]int{}
	for _, event := range s.Events {
		if event.Kind != demo.EventLog {
			at[event.Kind] = min(int(int64(steps)*int64(event.At)/int64(max(until, 1))), steps-1)
			cells[at[event.Kind]] = '↑'
		}
	}
	for _, label := range markLabels() {
		if cell, happened := at[label.kind]; happened {
			write(cells[cell+1:], []rune(label.text))
		}
	}
	return line{{fmt.Sprintf("  %-*s", addressWidth-2, "longest wait (log)"), faint}, {string(cells), plain}}
}

type markLabel struct {
	kind demo.EventKind
	text string
}

// markLabels are in the order in which they get their room.
func markLabels() []markLabel {
	return []markLabel{
		{demo.EventFault, "fault"},
		{demo.EventBlock, "block"},
		{demo.EventReturn, "return"},
		{demo.EventGaveUp, "gave up"},
		{demo.EventHeal, "heal"},
	}
}

// write puts the text into the cells if they are all free.
func write(cells, text []rune) {
	for i := range text {
		if cells[i] != ' ' {
			return
		}
	}
	copy(cells, text)
}
