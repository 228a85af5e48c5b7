package tuning

import (
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Sizes in points; a pixel is 72/dpi of one.
const (
	dpi       = 160
	pageWidth = 680
	margin    = 12
	heading   = 58 // the title and the legend
)

// page is a picture in the making.
type page struct {
	draw.Canvas
	canvas *vgimg.Canvas
	top    vg.Length
}

func newPage(height vg.Length, title string) page {
	canvas := vgimg.NewWith(vgimg.UseWH(pageWidth, height), vgimg.UseDPI(dpi))
	p := page{draw.New(canvas), canvas, height}
	p.box(color.White, 0, 0, pageWidth, height)
	p.FillText(text(12, ink()), vg.Point{X: margin, Y: height - margin - 12}, title)
	return p
}

func (p page) write(w io.Writer) error {
	_, err := vgimg.PngCanvas{Canvas: p.canvas}.WriteTo(w)
	return err
}

func (p page) box(c color.Color, left, bottom, right, top vg.Length) {
	p.SetColor(c)
	p.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}.Path())
}

func (p page) line(c color.Color, x1, y1, x2, y2 vg.Length) {
	p.StrokeLine2(draw.LineStyle{Color: c, Width: vg.Points(0.7)}, x1, y1, x2, y2)
}

func (p page) write8(x, y vg.Length, align text8, words string) {
	style := text(8, ink())
	style.XAlign = draw.XAlignment(align)
	p.FillText(style, vg.Point{X: x, Y: y}, words)
}

// text8 is where a small text stands, as seen from its place.
type text8 float64

const (
	rightOf  = text8(draw.XLeft)
	centred  = text8(draw.XCenter)
	leftWard = text8(draw.XRight)
)

// legend names colours below the title.
func (p page) legend(items ...legendItem) {
	x, y := vg.Length(margin), p.top-margin-30
	for _, item := range items {
		p.box(item.colour, x, y-1, x+9, y+8)
		p.write8(x+14, y, rightOf, item.name)
		style := text(8, ink())
		x += 14 + style.Width(item.name) + 18
	}
}

type legendItem struct {
	colour color.Color
	name   string
}

// The colours are Okabe and Ito's, whose colours most colour-blind people can tell apart.
func vermillion() color.Color { return color.NRGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 255} }
func orange() color.Color     { return color.NRGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 255} }
func skyBlue() color.Color    { return color.NRGBA{R: 0x9F, G: 0xD3, B: 0xF0, A: 255} }
func blue() color.Color       { return color.NRGBA{R: 0x00, G: 0x72, B: 0xB2, A: 255} }
func grey() color.Color       { return color.NRGBA{R: 0xDD, G: 0xDD, B: 0xDD, A: 255} }
func ink() color.Color        { return color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 255} }
func faint() color.Color      { return color.NRGBA{R: 0x99, G: 0x99, B: 0x99, A: 255} }

func text(points float64, c color.Color) draw.TextStyle {
	style := plot.New().Title.TextStyle
	style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
	style.Color, style.XAlign, style.YAlign = c, draw.XLeft, draw.YBottom
	return style
}
