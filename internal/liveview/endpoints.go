package liveview

import (
	"fmt"
	"strings"
	"time"

	"endpoint-breaker/internal/demo"
)

// The columns, in cells.
const (
	nameWidth    = 10
	stateWidth   = 21
	rateWidth    = 6
	numberWidth  = 9
	shareWidth   = 6 // " 100 %"
	columnsWidth = nameWidth + stateWidth + rateWidth + 2 + shareWidth + 3*numberWidth
	maxBarWidth  = 24
)

// endpoints are two lines for each: the figures, and the course of its latency.
func endpoints(s demo.State, width int) screen {
	bar := min(width-columnsWidth, maxBarWidth)
	out := screen{text(faint, fmt.Sprintf("%-*s%-*s%*s  %-*s%*s%*s%*s",
		nameWidth, "endpoint", stateWidth, "state", rateWidth, "req/s", bar+shareWidth, "share",
		numberWidth, "P50", numberWidth, "P95", numberWidth, "waiting"))}
	for i, endpoint := range s.Endpoints {
		out = append(out, figures(endpoint, s.At, bar), course(s, i, width))
	}
	return append(out, marks(s, width))
}

func figures(e demo.EndpointState, now time.Duration, bar int) line {
	p50, p95 := "–", "–"
	if e.Answered > 0 {
		p50, p95 = latency(e.P50), latency(e.P95)
	}
	color := roleOf(e.Phase)
	out := line{
		{fmt.Sprintf("%-*s", nameWidth, e.Name), strong},
		{fmt.Sprintf("%-*s", stateWidth, condition(e, now)), color},
		{fmt.Sprintf("%*.1f  ", rateWidth, e.PerSecond), plain},
	}
	out = append(out, shareBar(e.Share, bar, color)...)
	return append(out, span{fmt.Sprintf("%*.0f %%%*s%*s%*d", shareWidth-2, 100*e.Share,
		numberWidth, p50, numberWidth, p95, numberWidth, e.Waiting), plain})
}

// condition says the phase in a symbol and a word.
func condition(e demo.EndpointState, now time.Duration) string {
	switch e.Phase {
	case demo.Slow:
		return "▲ slow"
	case demo.Blocked:
		return fmt.Sprintf("■ blocked %s left", seconds(max(e.Block.Until-now, 0)))
	case demo.Returned:
		return "◆ returned"
	default:
		return "● healthy"
	}
}

// shareBar is as long as the share, in halves of a cell, on a line as long as the whole.
func shareBar(share float64, width int, color role) line {
	halves := min(max(int(share*float64(width)*2+0.5), 0), width*2)
	bar := strings.Repeat("━", halves/2) + strings.Repeat("╸", halves%2)
	return line{{bar, color}, {strings.Repeat("─", width-(halves+1)/2), faint}}
}

func latency(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return seconds(d)
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	default:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
}
