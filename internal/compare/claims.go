package compare

import (
	"fmt"
	"slices"
	"time"
)

// Broken lists what contradicts the claims that the project makes, one line each. It looks
// at the cells that were played; a run that is no evidence, because something was wrong
// before the fault or the machine was too busy, contradicts them, too.
func (r *Report) Broken() []string {
	var broken []string
	for _, cell := range r.Cells {
		broken = append(broken, noEvidence(cell)...)
		if cell.ours() && cell.Figures.Refused > 0 {
			broken = append(broken, fmt.Sprintf("%s: %d × 503, the breaker never refuses a request", cell, cell.Figures.Refused))
		}
		if cell.Setup == Breaker && slices.Contains(claimed(), cell.Fault) {
			broken = append(broken, r.protects(cell)...)
		}
	}
	return broken
}

// claimed are the faults that the breaker is there for.
func claimed() []string { return []string{"slow", "hanging"} }

func (c Cell) String() string { return fmt.Sprintf("%s under %s", c.Setup, c.Fault) }

func (c Cell) ours() bool {
	return slices.ContainsFunc(Setups(), func(s Setup) bool { return s.Name == c.Setup && s.Ours })
}

func noEvidence(cell Cell) []string {
	const limit = slowThreshold / 2
	var lines []string
	if n := cell.Figures.FailedBefore; n > 0 {
		lines = append(lines, fmt.Sprintf("%s: %d requests failed before the fault, so nothing that follows is evidence", cell, n))
	}
	if slowest := cell.Figures.SlowestHealthy; slowest > limit {
		lines = append(lines, fmt.Sprintf("%s: an answer of a healthy endpoint took %s, above %s: the machine is too busy to compare on it",
			cell, slowest.Round(time.Millisecond), limit))
	}
	return lines
}

// protects tells what is wrong with the breaker under a fault that it is there for.
func (r *Report) protects(cell Cell) []string {
	var lines []string
	wrong := func(format string, args ...any) {
		lines = append(lines, cell.String()+": "+fmt.Sprintf(format, args...))
	}
	f := cell.Figures
	if f.UntilNone.Never {
		wrong("the endpoint got requests all the time, %d of %d", f.Landed, f.DuringFault)
	}
	if f.FullShare.Never {
		wrong("after the healing the endpoint's share did not come back")
	}
	for endpoint, kept := range f.Kept {
		if kept > 0 && endpoint != slowIndex {
			wrong("%s, healthy all the time, missed %d requests", endpointNames()[endpoint], kept)
		}
	}
	if nothing, played := r.Cell(Nothing, cell.Fault); played {
		if verdict := Judge(f, nothing.Figures); verdict.Word != Ahead {
			wrong("it is not ahead of doing nothing, but %s", verdict.Word)
		}
	}
	return lines
}
