package liveview

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"endpoint-breaker/internal/demo"
)

// The smallest terminal that has room for everything. On a smaller one lines are cut,
// and the oldest events go first.
const (
	minWidth  = 80
	minHeight = 24
)

// maxWidth keeps the columns close enough for the eye on a very wide terminal.
const maxWidth = 160

// screenOf draws the story on a terminal of that size.
func screenOf(s demo.State, width, height int) screen {
	inner := min(max(width, minWidth), maxWidth)
	out := header(s, inner)
	out = append(out, nil)
	out = append(out, endpoints(s, inner)...)
	out = append(out, nil, counters(s.Counters), nil)
	out = append(out, text(faint, "what happened"))
	out = append(out, events(s.Events, inner, height-len(out))...)
	out = out[:min(len(out), max(height, 0))]
	for i := range out {
		out[i] = out[i].cut(width)
	}
	return out
}

func header(s demo.State, width int) screen {
	plan := s.Setting.Plan
	title := fmt.Sprintf("endpoint-breaker on %s: one of %d servers turns slow", s.Setting.Gateway, len(s.Endpoints))
	const keys = "q quits"
	gap := strings.Repeat(" ", max(width-len(title)-len(keys), 1))
	now := fmt.Sprintf("%s of %s   phase %d of 4: ", seconds(s.At), plan.About(), s.Phase()+1)
	return screen{
		{{title, strong}, {gap, plain}, {keys, faint}},
		{{now, plain}, {s.Phase().String(), roleOf(s.Phase())}, {"   " + speed(plan), plain}},
		{{"next: ", plain}, {s.Next(), strong}},
		text(faint, fmt.Sprintf("slow_threshold %s  dedup_window %s  block_ttl %s  %d workers  %g requests/s",
			short(plan.SlowThreshold), short(plan.DedupWindow), short(plan.BlockTTL), s.Setting.Workers, s.Setting.Rate)),
	}
}

func speed(plan demo.Plan) string {
	if plan.Scale == 1 {
		return "as fast as deployed"
	}
	return fmt.Sprintf("%g times faster than deployed", plan.Scale)
}

func counters(c demo.Counters) line {
	return line{
		{"samples ", faint},
		{fmt.Sprint(c.Samples), strong},
		{fmt.Sprintf(" (%d deduplicated, %d stale)   blocks ", c.Deduplicated, c.Stale), faint},
		{fmt.Sprint(c.Blocks), strong},
		{"   overrides ", faint},
		{fmt.Sprint(c.Overrides), strong},
		{"   bypasses ", faint},
		{fmt.Sprint(c.Bypasses), strong},
	}
}

// events are the latest that fit into so many lines.
func events(all []demo.Event, width, lines int) screen {
	var out screen
	for _, event := range all {
		stamp := event.Stamp()
		for text := range strings.Lines(lipgloss.Wrap(printable(event.Text), width-lipgloss.Width(stamp), "")) {
			out = append(out, line{{stamp, plain}, {strings.TrimSuffix(text, "\n"), roleOfEvent(event.Kind)}})
			stamp = strings.Repeat(" ", lipgloss.Width(stamp))
		}
	}
	return out[max(len(out)-max(lines, 0), 0):]
}

func roleOfEvent(kind demo.EventKind) role {
	switch kind {
	case demo.EventFault:
		return slow
	case demo.EventBlock, demo.EventGaveUp:
		return blocked
	case demo.EventReturn:
		return returned
	case demo.EventLog:
		return faint
	default:
		return plain
	}
}

func roleOf(phase demo.Phase) role {
	switch phase {
	case demo.Slow:
		return slow
	case demo.Blocked:
		return blocked
	case demo.Returned:
		return returned
	default:
		return healthy
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func short(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
