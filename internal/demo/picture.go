package demo

import (
	"fmt"
	"io"
	"time"

	"endpoint-breaker/internal/chart"
)

// WritePicture draws the recording as a PNG.
func WritePicture(w io.Writer, r *Recording) error {
	data := chart.Data{
		Title:     fmt.Sprintf("%s turns slow: endpoint-breaker moves its traffic away, and back", r.Slow),
		Subtitle:  r.Gateway.With(r.Workers) + ", " + pace(r.Plan),
		End:       r.End,
		Marks:     []chart.Mark{{At: r.Fault, Label: "fault"}},
		Threshold: chart.Line{At: r.Plan.SlowThreshold, Label: "slow_threshold " + short(r.Plan.SlowThreshold)},
	}
	if block, blocked := r.Block(r.Slow); blocked {
		data.Shaded = chart.Span{From: block.Since, To: block.Until, Label: r.Slow + " blocked"}
		data.Marks = append(data.Marks, chart.Mark{At: block.Since, Label: "block"})
		if r.Heal > 0 {
			data.Marks = append(data.Marks, chart.Mark{At: r.Heal, Label: "heal"})
			data.Note = chart.Note{About: points(heldUntilHeal(r)), Label: fmt.Sprintf("answered when %s heals", r.Slow)}
		}
		data.Marks = append(data.Marks, chart.Mark{At: block.Until, Label: "return"})
	}
	for _, name := range r.Endpoints {
		data.Endpoints = append(data.Endpoints, chart.Endpoint{Name: name, Requests: points(to(name, r.Requests))})
	}
	return chart.Write(w, data)
}

func points(requests []Request) []chart.Request {
	all := make([]chart.Request, len(requests))
	for i, request := range requests {
		all[i] = chart.Request{At: request.Sent, Latency: request.Latency}
	}
	return all
}

// heldUntilHeal are the requests whose slow answers the heal cut short. The later they were
// sent the less they waited, which without a word looks like a recovery.
func heldUntilHeal(r *Recording) []Request {
	var held []Request
	for _, request := range to(r.Slow, r.Requests) {
		if request.Sent < r.Heal && request.Sent+request.Latency >= r.Heal {
			held = append(held, request)
		}
	}
	return held
}

func pace(plan Plan) string {
	if plan.Scale == minScale {
		return "real time, as deployed"
	}
	return fmt.Sprintf("%g times faster than deployed: slow_threshold %s stands for 70s, block_ttl %s for 45s",
		plan.Scale, short(plan.SlowThreshold), short(plan.BlockTTL))
}

// short writes a duration of the configuration in seconds, as people write it there.
func short(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
