package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// marks draws the shaded span and the vertical marks of one panel.
type marks struct {
	data  *Data
	upper bool // the panel whose marks have labels; the other one has the span
}

// Plot implements plot.Plotter.
func (m *marks) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	if !m.upper {
		m.shade(c, toX)
	}
	line := draw.LineStyle{Color: ink(), Width: vg.Points(0.9), Dashes: []vg.Length{3, 2}}
	for _, mark := range m.data.Marks {
		x := toX(mark.At.Seconds())
		if !m.upper {
			c.StrokeLine2(line, x, c.Min.Y, x, c.Max.Y)
			continue
		}
		c.StrokeLine2(line, x, c.Min.Y, x, c.Max.Y+4)
		style := textStyle(9, ink())
		style.XAlign = draw.XCenter
		c.FillText(style, vg.Point{X: x, Y: c.Max.Y + 6}, mark.Label)
	}
}

func (m *marks) shade(c draw.Canvas, toX func(float64) vg.Length) {
	span := m.data.Shaded
	if span.To <= span.From {
		return
	}
	from, to := toX(span.From.Seconds()), toX(span.To.Seconds())
	c.SetColor(color.NRGBA{R: 0xEC, G: 0xEC, B: 0xEC, A: 255})
	c.Fill(vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: to, Y: c.Max.Y}}.Path())
	style := textStyle(8.5, ink())
	c.FillText(style, vg.Point{X: from + 5, Y: (c.Min.Y + c.Max.Y) / 2}, span.Label)
}

// GlyphBoxes implements plot.GlyphBoxer: it keeps room for the labels above the panel.
func (m *marks) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if !m.upper {
		return nil
	}
	return []plot.GlyphBox{{X: 0.5, Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: 18}}}}
}

// threshold draws a horizontal line with its name.
type threshold struct {
	line Line
}

// Plot implements plot.Plotter.
func (t *threshold) Plot(c draw.Canvas, p *plot.Plot) {
	if t.line.At <= 0 {
		return
	}
	_, toY := p.Transforms(&c)
	y := toY(t.line.At.Seconds())
	c.StrokeLine2(draw.LineStyle{Color: ink(), Width: vg.Points(0.8)}, c.Min.X, y, c.Max.X, y)
	style := textStyle(8.5, ink())
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Max.X - 4, Y: y + 3}, t.line.Label)
}
