package tuning

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"time"

	"gonum.org/v1/plot/vg"
)

// The scale of the times, logarithmic.
const (
	shortest    = time.Minute
	longest     = time.Hour
	chartBottom = 60
	chartTop    = 250
)

// drawEvidence draws the time to the block, a group of bars for each number of requests and, within,
// a pair for each number of workers.
func (r *Report) drawEvidence(w io.Writer) error {
	p := newPage(chartTop+heading+18, "One of three hosts hangs: time until it is blocked")
	p.legend(
		legendItem{vermillion(), "evidence: worker, median"}, legendItem{orange(), "worst"},
		legendItem{blue(), "evidence: shared, median"}, legendItem{skyBlue(), "worst"},
	)
	const left, right = 60, pageWidth - margin
	for minutes, label := range map[int]string{1: "1 min", 2: "2 min", 5: "5 min", 10: "10 min", 20: "20 min", 60: "1 h"} {
		y := timeY(wait(time.Duration(minutes) * time.Minute))
		p.line(grey(), left, y, right, y)
		p.write8(left-6, y-4, leftWard, label)
	}
	group := vg.Length(right-left) / vg.Length(len(rates()))
	for j, rate := range rates() {
		from := left + vg.Length(j)*group
		p.write8(from+group/2, chartBottom-32, centred, fmt.Sprintf("%g requests per second", rate))
		pair := group / vg.Length(len(workerCounts()))
		for i, workers := range workerCounts() {
			middle := from + (vg.Length(i)+0.5)*pair
			p.write8(middle, chartBottom-14, centred, fmt.Sprintf("%d %s", workers, plural(workers)))
			row := r.Evidences[i*len(rates())+j]
			p.bar(middle-24, row.Worker, vermillion(), orange())
			p.bar(middle+2, row.Shared, blue(), skyBlue())
		}
	}
	return p.write(w)
}

func plural(workers int) string {
	if workers == 1 {
		return "worker"
	}
	return "workers"
}

// bar draws the worst behind the median. One that is never over stands out at the top.
func (p page) bar(left vg.Length, t typical[wait], median, worst color.Color) {
	const wide = 22
	p.box(worst, left, chartBottom, left+wide, timeY(t.Worst))
	p.box(median, left+wide/4, chartBottom, left+wide*3/4, timeY(t.Median))
}

func timeY(w wait) vg.Length {
	at := min(max(time.Duration(w), shortest), longest+longest/4)
	part := math.Log(at.Seconds()/shortest.Seconds()) / math.Log(longest.Seconds()/shortest.Seconds())
	return chartBottom + (chartTop-chartBottom)*vg.Length(part)
}
