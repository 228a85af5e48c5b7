package liveview

import (
	"fmt"
	"html"
	"strings"
)

// A cell of the drawing, in pixels, and where in it letters stand.
const (
	cellWidth  = 9
	cellHeight = 20
	baseline   = 15
	fontSize   = 15
	border     = 12
)

// The drawing's own background, and the text on it.
const (
	background = "#1b1d22"
	foreground = "#d8dae0"
	dimmed     = "#8d93a0"
)

// lowerBlocks are eighths of a cell from below.
const lowerBlocks = "▁▂▃▄▅▆▇█"

// svg draws the screen as a terminal of that size would show it. Each word has its place
// and its length, and bars are rectangles, so that no font moves anything.
func (s screen) svg(width, height int) string {
	w, h := width*cellWidth+2*border, height*cellHeight+2*border
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", background)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" shape-rendering="crispEdges">`+"\n", fontSize)
	for row, l := range s {
		column := 0
		for _, span := range l {
			drawSpan(&b, span, column, row)
			column += span.width()
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func drawSpan(b *strings.Builder, s span, column, row int) {
	word := ""
	for i, r := range append([]rune(s.text), ' ') {
		block := drawBlock(b, r, s.role, column+i, row)
		if r != ' ' && !block {
			word += string(r)
			continue
		}
		drawWord(b, word, s.role, column+i-len([]rune(word)), row)
		word = ""
	}
}

func drawWord(b *strings.Builder, word string, r role, column, row int) {
	if word == "" {
		return
	}
	weight := ""
	if r.bold() {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`+"\n",
		border+column*cellWidth, border+row*cellHeight+baseline, len([]rune(word))*cellWidth, fill(r), weight, html.EscapeString(word))
}

// drawBlock draws char if it is one of those that must join their neighbours.
func drawBlock(b *strings.Builder, char rune, r role, column, row int) bool {
	width := float64(cellWidth)
	var top, height float64
	switch eighth := strings.IndexRune(lowerBlocks, char); {
	case eighth >= 0:
		height = cellHeight * float64(eighth/len("▁")+1) / 8
		top = cellHeight - height
	case char == '━':
		top, height = 8, 4
	case char == '╸':
		width, top, height = width/2, 8, 4
	case char == '─':
		top, height = 9.5, 1
	default:
		return false
	}
	fmt.Fprintf(b, `<rect x="%d" y="%g" width="%g" height="%g" fill="%s"/>`+"\n",
		border+column*cellWidth, float64(border+row*cellHeight)+top, width, height, fill(r))
	return true
}

func fill(r role) string {
	switch {
	case r == faint:
		return dimmed
	case r.color() == "":
		return foreground
	default:
		return r.color()
	}
}
