package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// crowd is the number of points from which on they are drawn smaller.
const crowd = 2000

func newPanel(d *Data, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Min, p.X.Max = 0, d.End.Seconds()
	p.X.Tick.Marker = plot.TickerFunc(timeTicks)
	p.Y.Label.Text = yLabel
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(9)
		axis.Tick.Label.Font = sans(8)
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = ink(), ink()
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = faint(), faint()
		axis.Padding = 0
	}
	return p
}

// sharePanel stacks the endpoints' shares of the requests.
func sharePanel(d *Data) (*plot.Plot, error) {
	p := newPanel(d, "share of new requests")
	p.Y.Min, p.Y.Max = 0, 100
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0 %"}, {Value: 25}, {Value: 50, Label: "50 %"}, {Value: 75}, {Value: 100, Label: "100 %"},
	}
	edges := bucketEdges(d)
	sums := stackedShares(d, edges)
	for i := range d.Endpoints {
		area, err := plotter.NewPolygon(band(edges, sums[i], sums[i+1]))
		if err != nil {
			return nil, err
		}
		area.Color, area.LineStyle.Width = palette()[i], 0
		p.Add(area)
	}
	p.Add(&marks{data: d, upper: true})
	return p, nil
}

// latencyPanel has a point for each request, at the time when it was sent.
func latencyPanel(d *Data) (*plot.Plot, error) {
	p := newPanel(d, "time to the last byte")
	p.X.Label.Text = "time at which the request was sent"
	p.Y.Scale = plot.LogScale{}
	p.Y.Min, p.Y.Max = latencyRange(d)
	p.Y.Tick.Marker = plot.TickerFunc(latencyTicks)
	p.Add(&marks{data: d})
	points, err := newPoints(d)
	if err != nil {
		return nil, err
	}
	p.Add(points)
	p.Add(&threshold{line: d.Threshold}, &note{d.Note, d.Marks})
	return p, nil
}

// newPoints draws the points in the order of their time, so that no endpoint covers
// the others. It hides the scatter's glyph boxes: points at the edge must not move the
// axes.
func newPoints(d *Data) (plot.Plotter, error) {
	type point struct {
		plotter.XY
		endpoint int
	}
	var points []point
	for i, endpoint := range d.Endpoints {
		for _, request := range endpoint.Requests {
			latency := seconds(request.Latency)
			points = append(points, point{plotter.XY{X: request.At.Seconds(), Y: latency}, i})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
	places := make(plotter.XYs, len(points))
	for i, p := range points {
		places[i] = p.XY
	}
	scatter, err := plotter.NewScatter(places)
	if err != nil {
		return nil, err
	}
	radius := vg.Points(1.9)
	if len(points) > crowd {
		radius = vg.Points(1.1)
	}
	scatter.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		c := palette()[points[i].endpoint]
		c.A = 190
		return draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}
	}
	return struct{ plot.Plotter }{scatter}, nil
}

// seconds is a latency on an axis that has no zero.
func seconds(latency time.Duration) float64 { return max(latency, time.Millisecond).Seconds() }

// latencyRange leaves some air around what is there.
func latencyRange(d *Data) (low, high float64) {
	low, high = math.Inf(1), max(d.Threshold.At, time.Millisecond).Seconds()
	for _, endpoint := range d.Endpoints {
		for _, request := range endpoint.Requests {
			latency := seconds(request.Latency)
			low, high = min(low, latency), max(high, latency)
		}
	}
	return min(low, high) / 1.6, high * 1.9
}

// latencyTicks labels 1, 2 and 5 of each decade.
func latencyTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := math.Floor(math.Log10(low)); decade <= math.Log10(high); decade++ {
		for factor := 1.0; factor < 10; factor++ {
			value := factor * math.Pow(10, decade)
			if value < low || value > high {
				continue
			}
			tick := plot.Tick{Value: value}
			if factor == 1 || factor == 2 || factor == 5 {
				tick.Label = durationLabel(value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

func durationLabel(seconds float64) string {
	if seconds < 0.999 {
		return fmt.Sprintf("%.0f ms", seconds*1000)
	}
	return fmt.Sprintf("%.0f s", seconds)
}

// timeTicks labels about ten round moments.
func timeTicks(low, high float64) []plot.Tick {
	step := 1.0
	for _, factor := range []float64{2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2} { // 1, 2, 5, 10, 20, 50 …
		if (high-low)/step <= 12 {
			break
		}
		step *= factor
	}
	var ticks []plot.Tick
	for value := math.Ceil(low/step) * step; value <= high; value += step {
		ticks = append(ticks, plot.Tick{Value: value, Label: fmt.Sprintf("%g s", value)})
	}
	return ticks
}
