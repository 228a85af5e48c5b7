package liveview

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
)

// role is what a piece of text stands for; it decides how that looks.
type role int

const (
	plain role = iota
	strong
	faint
	healthy
	slow
	blocked
	returned
)

// color is Okabe and Ito's hue for the role, which most colour-blind people can tell
// from the others, as bright as is readable on black and on white; "" = the terminal's
// own. Symbols and words say the same.
func (r role) color() string {
	return [...]string{plain: "", strong: "", faint: "", healthy: "#3A96D0", slow: "#C98500", blocked: "#D55E00", returned: "#009E73"}[r]
}

func (r role) bold() bool { return r == strong || r == slow || r == blocked }

func (r role) style() lipgloss.Style {
	style := lipgloss.NewStyle().Bold(r.bold()).Faint(r == faint)
	if r.color() == "" {
		return style
	}
	return style.Foreground(lipgloss.Color(r.color()))
}

// span is text of one role, of characters that are one cell wide each.
type span struct {
	text string
	role role
}

func (s span) width() int { return len([]rune(s.text)) }

// line is one line of the screen.
type line []span

func text(r role, s string) line { return line{{s, r}} }

func (l line) width() int {
	width := 0
	for _, s := range l {
		width += s.width()
	}
	return width
}

// cut shortens the line to a width and shows that something is missing.
func (l line) cut(width int) line {
	if l.width() <= width {
		return l
	}
	if width < 1 {
		return nil
	}
	var cut line
	left := width - 1
	for _, s := range l {
		runes := []rune(s.text)
		cut = append(cut, span{string(runes[:min(left, len(runes))]), s.role})
		if left -= len(runes); left <= 0 {
			return append(cut, span{"…", s.role})
		}
	}
	return cut
}

// screen is all lines from the top.
type screen []line

// plain is the screen without colours.
func (s screen) plain() string { return s.render(func(s span) string { return s.text }) }

// ansi is the screen for a terminal with all colours; bubbletea reduces them to those
// that the terminal has.
func (s screen) ansi() string {
	return s.render(func(s span) string { return s.role.style().Render(s.text) })
}

func (s screen) render(paint func(span) string) string {
	lines := make([]string, len(s))
	for i, l := range s {
		var b strings.Builder
		for _, span := range l {
			if span.text != "" {
				b.WriteString(paint(span))
			}
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(lines, "\n")
}

// printable replaces what would move the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
