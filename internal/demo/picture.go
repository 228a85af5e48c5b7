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
		Subtitle:  pace(r.Plan),
		End:       r.End,
		Marks:     []chart.Mark{{At: r.Fault, Label: "fault"}},
		Threshold: chart.Line{At: r.Plan.SlowThreshold, Label: "slow_threshold " + short(r.Plan.SlowThreshold)},
	}
	if block, blocked := r.Block(r.Slow); blocked {
		data.Shaded = chart.Span{From: block.Since, To: block.Until, Label: r.Slow + " blocked"}
		data.Marks = append(data.Marks, chart.Mark{At: block.Since, Label: "block"})
		if r.Heal > 0 {
			data.Marks = append(data.Marks, chart.Mark{At: r.Heal, Label: "heal"})
		}
		data.Marks = append(data.Marks, chart.Mark{At: block.Until, Label: "return"})
	}
	for _, name := range r.Endpoints {
		endpoint := chart.Endpoint{Name: name}
		for _, request := range to(name, r.Requests) {
			endpoint.Requests = append(endpoint.Requests, chart.Request{At: request.Sent, Latency: request.Latency})
		}
		data.Endpoints = append(data.Endpoints, endpoint)
	}
	return chart.Write(w, data)
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
