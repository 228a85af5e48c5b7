package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Finding is one condition of the demo and how it came out.
type Finding struct {
	OK   bool
	Text string // with the numbers
}

func (f Finding) String() string {
	mark := "✓"
	if !f.OK {
		mark = "✗"
	}
	return mark + " " + f.Text
}

// Judge looks at what happened, by counts and the plugin's own times.
func Judge(r *Recording) []Finding {
	return []Finding{
		judgeBlocked(r),
		judgeOthers(r),
		judgeAvoided(r),
		judgeReturned(r),
		judgeFailures(r),
	}
}

func judgeBlocked(r *Recording) Finding {
	block, blocked := r.Block(r.Slow)
	if !blocked {
		return Finding{false, fmt.Sprintf("%s was never blocked, %s after it turned slow", r.Slow, seconds(r.End-r.Fault))}
	}
	stuck := to(r.Slow, r.In(Slow))
	if len(stuck) == 0 {
		return Finding{false, fmt.Sprintf("%s was blocked without a request that got stuck there", r.Slow)}
	}
	first := stuck[0].DecisionEnded
	took := block.Since - first
	times := len(slices.DeleteFunc(slices.Clone(r.Blocks), func(b Block) bool { return b.Endpoint != r.Slow }))
	return Finding{
		took <= r.Plan.BlockWithin && times == 1,
		fmt.Sprintf("%s was blocked %s, %s after the first of %d requests got stuck there (threshold %s, bound %s)",
			r.Slow, timesInWords(times), seconds(took), len(stuck), seconds(r.Plan.SlowThreshold), seconds(r.Plan.BlockWithin)),
	}
}

func judgeOthers(r *Recording) Finding {
	var others []string
	for _, block := range r.Blocks {
		if block.Endpoint != r.Slow {
			others = append(others, fmt.Sprintf("%s at %s", block.Endpoint, seconds(block.Since)))
		}
	}
	if len(others) > 0 {
		return Finding{false, "blocked too, although healthy: " + strings.Join(others, ", ")}
	}
	return Finding{true, fmt.Sprintf("none of the other %d endpoints was ever blocked", len(r.Endpoints)-1)}
}

func judgeAvoided(r *Recording) Finding {
	all := r.In(Blocked)
	there := to(r.Slow, all)
	block, blocked := r.Block(r.Slow)
	if !blocked {
		return Finding{false, fmt.Sprintf("%s was never avoided: there was no block", r.Slow)}
	}
	return Finding{
		len(there) == 0 && len(all) > 0,
		fmt.Sprintf("while it was blocked (%s – %s), %s got %d of %d new requests",
			seconds(block.Since), seconds(block.Until), r.Slow, len(there), len(all)),
	}
}

func judgeReturned(r *Recording) Finding {
	block, blocked := r.Block(r.Slow)
	if !blocked {
		return Finding{false, fmt.Sprintf("%s never came back: there was no block", r.Slow)}
	}
	certainly := func(q Request) bool { return q.DecisionEnded >= block.Until }
	all := slices.DeleteFunc(r.In(Returned), func(q Request) bool { return !certainly(q) })
	back := to(r.Slow, all)
	if len(back) == 0 {
		return Finding{false, fmt.Sprintf("after the block %s got none of %d requests", r.Slow, len(all))}
	}
	return Finding{true, fmt.Sprintf("it came back: %s after the block it got a request, %d of %d from then on, P50 %s",
		seconds(back[0].DecisionEnded-block.Until), len(back), len(all), millis(quantile(latencies(back), 0.5)))}
}

func judgeFailures(r *Recording) Finding {
	var failures []string
	for _, request := range r.Requests {
		if request.Failure != "" {
			failures = append(failures, request.Failure)
		}
	}
	if len(failures) > 0 {
		return Finding{false, fmt.Sprintf("%d of %d requests failed, the first with: %s", len(failures), len(r.Requests), failures[0])}
	}
	return Finding{len(r.Requests) > 0, fmt.Sprintf("0 of %d requests failed", len(r.Requests))}
}

// timesInWords says a small count in words.
func timesInWords(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func millis(d time.Duration) string {
	if d >= 10*time.Second {
		return seconds(d)
	}
	if d >= time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
