package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// note draws the words about some of the points, and a line from there to the one in the
// middle.
type note struct {
	Note
	marks []Mark
}

// Plot implements plot.Plotter.
func (n *note) Plot(c draw.Canvas, p *plot.Plot) {
	if len(n.About) == 0 {
		return
	}
	const air = 4 // between the words, the line and the points
	toX, toY := p.Transforms(&c)
	place := func(r Request) vg.Point {
		return vg.Point{X: toX(r.At.Seconds()), Y: toY(seconds(r.Latency))}
	}
	middle := place(n.About[len(n.About)/2])
	lowest := middle.Y
	for _, request := range n.About {
		lowest = min(lowest, place(request).Y)
	}
	style := textStyle(8.5, ink())
	style.YAlign = draw.YTop
	style.XAlign = draw.XCenter
	half := style.Width(n.Label)/2 + air
	left, right := n.room(c, toX)
	top := vg.Point{X: max(min(middle.X, right-half), left+half), Y: lowest - 2*air}
	c.FillText(style, top, n.Label)
	line := draw.LineStyle{Color: faint(), Width: vg.Points(0.7)}
	c.StrokeLine2(line, middle.X, top.Y, middle.X, middle.Y-air)
}

// room is the stretch between the marks, or the edges, on both sides of the points.
func (n *note) room(c draw.Canvas, toX func(float64) vg.Length) (left, right vg.Length) {
	left, right = c.Min.X, c.Max.X
	for _, mark := range n.marks {
		x := toX(mark.At.Seconds())
		if mark.At <= n.About[0].At {
			left = max(left, x)
		}
		if mark.At >= n.About[len(n.About)-1].At {
			right = min(right, x)
		}
	}
	return left, right
}
