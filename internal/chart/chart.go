// Package chart draws what happened to the traffic: who got which share of it over
// time, and how long the answers took.
package chart

import (
	"errors"
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

// The picture's size: readable at the width of a README, sharp at twice that.
const (
	Width  = 1800 // pixels
	Height = 1240
	dpi    = 180
)

// Data is what to draw. Times count from the left edge.
type Data struct {
	Title, Subtitle string
	Endpoints       []Endpoint // at least one; the colours follow this order
	Marks           []Mark     // from left to right
	Shaded          Span       // in the lower panel, with its label; the zero span = none
	Threshold       Line       // a horizontal line among the latencies; the zero line = none
	Note            Note       // in the lower panel; the zero note = none
	End             time.Duration
}

// Endpoint is one backend and the requests it got.
type Endpoint struct {
	Name     string
	Requests []Request
}

// Request is one point of the lower panel.
type Request struct {
	At, Latency time.Duration
}

// Mark is a moment with a name, drawn across both panels.
type Mark struct {
	At    time.Duration
	Label string
}

// Span is a stretch of time with a name.
type Span struct {
	From, To time.Duration
	Label    string
}

// Line is a latency with a name.
type Line struct {
	At    time.Duration
	Label string
}

// Note explains some of the requests. It is written below the fastest of them, where there
// should be no others.
type Note struct {
	About []Request // in the order of their time
	Label string
}

func (d *Data) check() error {
	if len(d.Endpoints) == 0 {
		return errors.New("chart: no endpoint to draw")
	}
	if len(d.Endpoints) > len(palette()) {
		return fmt.Errorf("chart: %d endpoints, there are colours for %d", len(d.Endpoints), len(palette()))
	}
	if d.End <= 0 {
		return fmt.Errorf("chart: it ends at %s, that must be above 0", d.End)
	}
	return nil
}

// Write draws the picture as a PNG of Width × Height.
func Write(w io.Writer, d Data) error {
	if err := d.check(); err != nil {
		return err
	}
	shares, err := sharePanel(&d)
	if err != nil {
		return err
	}
	latencies, err := latencyPanel(&d)
	if err != nil {
		return err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(Width)/dpi*vg.Inch, vg.Length(Height)/dpi*vg.Inch), vgimg.UseDPI(dpi))
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	drawPage(page, &d, shares, latencies)
	_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// drawPage puts the headings and the two panels, their axes aligned, one below the
// other.
func drawPage(page draw.Canvas, d *Data, shares, latencies *plot.Plot) {
	const margin, heading, gap, upper = 12, 52, 8, 0.52
	page = draw.Crop(page, margin, -margin, margin, -margin)
	page.FillText(textStyle(13, ink()), vg.Point{X: page.Min.X, Y: page.Max.Y - 13}, d.Title)
	page.FillText(textStyle(9, faint()), vg.Point{X: page.Min.X, Y: page.Max.Y - 28}, d.Subtitle)
	legend(page, d, page.Max.Y-46)

	body := draw.Crop(page, 0, 0, 0, -heading)
	height := body.Max.Y - body.Min.Y
	top := draw.Crop(body, 0, 0, height*(1-upper)+gap, 0)
	bottom := draw.Crop(body, 0, 0, 0, -height*upper)
	left := max(leftOf(shares, top), leftOf(latencies, bottom))
	shares.Draw(draw.Crop(top, left-leftOf(shares, top), 0, 0, 0))
	latencies.Draw(draw.Crop(bottom, left-leftOf(latencies, bottom), 0, 0, 0))
}

// leftOf is the width of what a panel has left of its data.
func leftOf(p *plot.Plot, c draw.Canvas) vg.Length { return p.DataCanvas(c).Min.X - c.Min.X }

func legend(page draw.Canvas, d *Data, y vg.Length) {
	const swatch, gap = 9, 22
	style := textStyle(9, ink())
	x := page.Min.X
	for i, endpoint := range d.Endpoints {
		page.SetColor(palette()[i])
		page.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: y - 1}, Max: vg.Point{X: x + swatch, Y: y + swatch - 1}}.Path())
		x += swatch + 5
		page.FillText(style, vg.Point{X: x, Y: y}, endpoint.Name)
		x += style.Width(endpoint.Name) + gap
	}
}

// palette is Okabe and Ito's, whose colours most colour-blind people can tell apart.
func palette() []color.NRGBA {
	return []color.NRGBA{
		{R: 0x00, G: 0x72, B: 0xB2, A: 255}, // blue
		{R: 0xD5, G: 0x5E, B: 0x00, A: 255}, // vermillion
		{R: 0x56, G: 0xB4, B: 0xE9, A: 255}, // sky blue
		{R: 0xE6, G: 0x9F, B: 0x00, A: 255}, // orange
		{R: 0x00, G: 0x9E, B: 0x73, A: 255}, // green
		{R: 0xCC, G: 0x79, B: 0xA7, A: 255}, // purple
	}
}

func ink() color.Color   { return color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 255} }
func faint() color.Color { return color.NRGBA{R: 0x66, G: 0x66, B: 0x66, A: 255} }

func textStyle(points float64, c color.Color) draw.TextStyle {
	style := plot.New().Title.TextStyle
	style.Font = sans(points)
	style.Color = c
	style.XAlign, style.YAlign = draw.XLeft, draw.YBottom
	return style
}

func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
}
