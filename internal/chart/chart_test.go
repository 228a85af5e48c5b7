package chart_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/chart"
)

// evenly is one request each 100 ms from one moment to another.
func evenly(name string, from, until, latency time.Duration) chart.Endpoint {
	endpoint := chart.Endpoint{Name: name}
	for at := from; at < until; at += 100 * time.Millisecond {
		endpoint.Requests = append(endpoint.Requests, chart.Request{At: at, Latency: latency})
	}
	return endpoint
}

func story() chart.Data {
	return chart.Data{
		Title: "title", Subtitle: "subtitle", End: 20 * time.Second,
		Endpoints: []chart.Endpoint{
			evenly("a", 0, 20*time.Second, 100*time.Millisecond),
			evenly("b", 0, 10*time.Second, 8*time.Second),
		},
		Marks:     []chart.Mark{{At: 10 * time.Second, Label: "block"}},
		Shaded:    chart.Span{From: 10 * time.Second, To: 15 * time.Second, Label: "b blocked"},
		Threshold: chart.Line{At: 7 * time.Second, Label: "threshold"},
	}
}

func TestThePictureIsAPNGOfTheStatedSizeThatShowsTheShares(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, chart.Write(&picture, story()))
	decoded, err := png.Decode(&picture)
	require.NoError(t, err)
	assert.Equal(t, chart.Width, decoded.Bounds().Dx())
	assert.Equal(t, chart.Height, decoded.Bounds().Dy())

	blue, vermillion := color.NRGBA{R: 0, G: 0x72, B: 0xB2, A: 255}, color.NRGBA{R: 0xD5, G: 0x5E, B: 0, A: 255}
	at := func(x, y float64) color.Color {
		return color.NRGBAModel.Convert(decoded.At(int(x*chart.Width), int(y*chart.Height)))
	}
	assert.Equal(t, blue, at(0.3, 0.45), "before the block a has the lower half")
	assert.Equal(t, vermillion, at(0.3, 0.25), "and b the upper one")
	assert.Equal(t, blue, at(0.8, 0.25), "then a has everything")
}

// pixels are those of the picture.
func pixels(t *testing.T, data chart.Data) image.Image {
	t.Helper()
	var picture bytes.Buffer
	require.NoError(t, chart.Write(&picture, data))
	decoded, err := png.Decode(&picture)
	require.NoError(t, err)
	return decoded
}

func TestANoteCoversNothing(t *testing.T) {
	for name, about := range map[string]func([]chart.Request) []chart.Request{
		"all":            func(all []chart.Request) []chart.Request { return all },
		"the last":       func(all []chart.Request) []chart.Request { return all[len(all)-1:] },
		"the later half": func(all []chart.Request) []chart.Request { return all[len(all)/2:] },
	} {
		t.Run(name, func(t *testing.T) {
			data := story()
			for i := range data.Endpoints[1].Requests { // they fall, as answers that end together
				data.Endpoints[1].Requests[i].Latency -= time.Duration(i) * 70 * time.Millisecond
			}
			without := pixels(t, data)
			data.Note = chart.Note{About: about(data.Endpoints[1].Requests), Label: "answered when b heals"}
			with := pixels(t, data)
			changed := 0
			for y := range chart.Height {
				for x := range chart.Width {
					if with.At(x, y) != without.At(x, y) {
						changed++
						require.Equal(t, color.NRGBAModel.Convert(color.White), color.NRGBAModel.Convert(without.At(x, y)), "at %d, %d", x, y)
					}
				}
			}
			assert.Greater(t, changed, 500, "the words and the line")
		})
	}
}

func TestAPictureNeedsNoRequestsMarksSpanOrThreshold(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, chart.Write(&picture, chart.Data{Endpoints: []chart.Endpoint{{Name: "a"}}, End: time.Second}))
	_, err := png.Decode(&picture)
	require.NoError(t, err)
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	for message, data := range map[string]chart.Data{
		"no endpoint":                        {End: time.Second},
		"it ends at 0s":                      {Endpoints: make([]chart.Endpoint, 1)},
		"7 endpoints, there are colours for": {Endpoints: make([]chart.Endpoint, 7), End: time.Second},
	} {
		assert.ErrorContains(t, chart.Write(&bytes.Buffer{}, data), message)
	}
}
