package compare

import (
	"fmt"
	"image/color"
	"io"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Sizes of a picture, in points; a pixel is 72/dpi of one.
const (
	dpi         = 160
	pageWidth   = 640
	stripHeight = 46
	stripGap    = 10
	labels      = 96 // left of the strips
	figures     = 92 // right of the strips
	heading     = 58
	footing     = 34
	margin      = 10
)

// WritePicture draws, for each set-up one below the other, which endpoint got which share of
// the requests over time, as a PNG.
func (r *Report) WritePicture(w io.Writer, fault Fault) error {
	cells := r.of(fault)
	height := vg.Length(heading + footing + len(cells)*(stripHeight+stripGap))
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Points(pageWidth), height), vgimg.UseDPI(dpi))
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	head(page, fault)
	for i, cell := range cells {
		top := page.Max.Y - heading - vg.Length(i)*(stripHeight+stripGap)
		s := strip{cell: cell, timeline: r.Timeline, one: len(fault.Faulty) == 1, axis: i == len(cells)-1, marks: i == 0}
		s.draw(draw.Canvas{Canvas: page.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: page.Min.X + margin, Y: top - stripHeight},
			Max: vg.Point{X: page.Max.X - margin, Y: top},
		}})
	}
	style := text(8, faint())
	style.XAlign = draw.XCenter
	page.FillText(style, vg.Point{X: labels + (pageWidth-labels-figures)/2, Y: 6},
		fmt.Sprintf("seconds; one stands for %d s of a deployment", Scale))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// head is the title and the legend.
func head(page draw.Canvas, fault Fault) {
	page.FillText(text(12, ink()), vg.Point{X: margin, Y: page.Max.Y - margin - 12}, fault.Title.English+": who gets the requests")
	style, x, y := text(8.5, ink()), vg.Length(margin), page.Max.Y-margin-30
	for _, endpoint := range stackOrder() {
		page.SetColor(colours()[endpoint])
		page.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: y - 1}, Max: vg.Point{X: x + 9, Y: y + 8}}.Path())
		name := endpointNames()[endpoint]
		if len(fault.Faulty) == 1 && fault.Faulty[0] == endpoint {
			name += ", the one with the fault"
		}
		x += 14
		page.FillText(style, vg.Point{X: x, Y: y}, name)
		x += style.Width(name) + 18
	}
}

// strip is the picture of one cell.
type strip struct {
	cell        Cell
	timeline    Timeline
	one         bool // the fault has one slow endpoint
	axis, marks bool // it has the time axis below, the names of the moments above
}

func (s strip) draw(c draw.Canvas) {
	area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: c.Min.X + labels, Y: c.Min.Y},
		Max: vg.Point{X: c.Max.X - figures, Y: c.Max.Y},
	}}
	c.FillText(text(9, ink()), vg.Point{X: c.Min.X, Y: (c.Min.Y+c.Max.Y)/2 - 4}, s.cell.Setup)
	x := func(at time.Duration) vg.Length {
		return area.Min.X + (area.Max.X-area.Min.X)*vg.Length(float64(at)/float64(s.timeline.End))
	}
	s.shares(area, x)
	s.moments(area, x)
	if s.axis {
		s.ticks(area, x)
	}
	s.note(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: area.Max.X + 8, Y: c.Min.Y}, Max: c.Max,
	}})
}

// shares stacks the endpoints; a second without a request stays white.
func (s strip) shares(area draw.Canvas, x func(time.Duration) vg.Length) {
	height := area.Max.Y - area.Min.Y
	for i, counts := range s.cell.Shares {
		all := 0
		for _, n := range counts {
			all += n
		}
		left, right := x(time.Duration(i)*step), x(min(time.Duration(i+1)*step, s.timeline.End))
		below := area.Min.Y
		for _, endpoint := range stackOrder() {
			above := below + height*vg.Length(counts[endpoint])/vg.Length(max(all, 1))
			area.SetColor(colours()[endpoint])
			area.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: below}, Max: vg.Point{X: right, Y: above}}.Path())
			below = above
		}
	}
	frame := draw.LineStyle{Color: faint(), Width: vg.Points(0.5)}
	area.StrokeLine2(frame, area.Min.X, area.Min.Y, area.Max.X, area.Min.Y)
}

func (s strip) moments(area draw.Canvas, x func(time.Duration) vg.Length) {
	line := draw.LineStyle{Color: ink(), Width: vg.Points(0.9), Dashes: []vg.Length{3, 2}}
	style := text(8.5, ink())
	style.XAlign = draw.XCenter
	for _, moment := range []struct {
		at   time.Duration
		name string
	}{{s.timeline.Fault, "fault"}, {s.timeline.Heal, "healed"}} {
		area.StrokeLine2(line, x(moment.at), area.Min.Y, x(moment.at), area.Max.Y+2)
		if s.marks {
			area.FillText(style, vg.Point{X: x(moment.at), Y: area.Max.Y + 4}, moment.name)
		}
	}
}

func (s strip) ticks(area draw.Canvas, x func(time.Duration) vg.Length) {
	style := text(8, ink())
	style.XAlign = draw.XCenter
	for at := time.Duration(0); at <= s.timeline.End; at += 5 * time.Second {
		area.StrokeLine2(draw.LineStyle{Color: faint(), Width: vg.Points(0.5)}, x(at), area.Min.Y, x(at), area.Min.Y-3)
		area.FillText(style, vg.Point{X: x(at), Y: area.Min.Y - 13}, fmt.Sprintf("%.0f", at.Seconds()))
	}
}

// note is the most telling figures, beside the strip.
func (s strip) note(c draw.Canvas) {
	l := Language(English)
	lines := []string{
		l.text(ColumnFailed, s.cell.Figures) + " failed",
		"kept " + l.text(ColumnKept, s.cell.Figures),
	}
	if s.one {
		lines = []string{l.text(ColumnLanded, s.cell.Figures) + " landed", lines[0], "until none: " + l.text(ColumnUntilNone, s.cell.Figures)}
	}
	style := text(7.5, ink())
	y := (c.Min.Y+c.Max.Y)/2 + vg.Length(len(lines))*10/2 - 8
	for _, line := range lines {
		c.FillText(style, vg.Point{X: c.Min.X, Y: y}, line)
		y -= 10
	}
}

// stackOrder puts the endpoint that may have the fault at the bottom, where its share can be
// read.
func stackOrder() []int { return []int{slowIndex, 0, 2} }

// colours are Okabe and Ito's, whose colours most colour-blind people can tell apart.
func colours() [endpointCount]color.NRGBA {
	return [endpointCount]color.NRGBA{
		{R: 0x00, G: 0x72, B: 0xB2, A: 255},
		{R: 0xD5, G: 0x5E, B: 0x00, A: 255},
		{R: 0x56, G: 0xB4, B: 0xE9, A: 255},
	}
}

func ink() color.Color   { return color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 255} }
func faint() color.Color { return color.NRGBA{R: 0x77, G: 0x77, B: 0x77, A: 255} }

func text(points float64, c color.Color) draw.TextStyle {
	style := plot.New().Title.TextStyle
	style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
	style.Color, style.XAlign, style.YAlign = c, draw.XLeft, draw.YBottom
	return style
}
