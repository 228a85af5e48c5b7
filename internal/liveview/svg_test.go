package liveview

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/demo"
)

// drawing counts the elements of an SVG and collects its text.
func drawing(t *testing.T, svg string) (elements map[string]int, words []string) {
	t.Helper()
	elements = map[string]int{}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return elements, words
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
		case xml.CharData:
			words = append(words, strings.Fields(string(token))...)
		}
	}
}

func TestAScreenshotHasEveryWordOfTheView(t *testing.T) {
	screen := screenOf(story(t, 14*time.Second), 100, 24)
	elements, words := drawing(t, screen.svg(100, 24))
	bars := strings.NewReplacer("━", " ", "─", " ", "╸", " ")
	want := strings.Map(func(r rune) rune {
		if strings.ContainsRune(lowerBlocks, r) {
			return ' '
		}
		return r
	}, bars.Replace(screen.plain()))
	assert.Equal(t, strings.Fields(want), words)
	assert.Equal(t, len(words), elements["text"])
}

func TestAScreenshotDrawsBarsAsRectangles(t *testing.T) {
	bars := screen{{{"▁█", blocked}, {"━╸─", healthy}}}.svg(5, 1)
	elements, words := drawing(t, bars)
	assert.Equal(t, 5+1, elements["rect"], "and the background")
	assert.Empty(t, words)
	assert.Contains(t, bars, `<rect x="12" y="29.5" width="9" height="2.5" fill="#D55E00"/>`)
	assert.Contains(t, bars, `<rect x="21" y="12" width="9" height="20" fill="#D55E00"/>`)
}

func TestAScreenshotEscapesItsText(t *testing.T) {
	_, words := drawing(t, screen{text(plain, `a<b&"c"`)}.svg(10, 1))
	assert.Equal(t, []string{`a<b&"c"`}, words)
}

func TestAScreenshotIsTakenDuringTheBlock(t *testing.T) {
	for moment, want := range map[time.Duration]bool{12_500 * ms: false, 13_000 * ms: false, 14_100 * ms: true} {
		assert.Equal(t, want, worthAPicture(story(t, moment)))
	}
	assert.False(t, worthAPicture(demo.State{At: time.Hour}))
}
