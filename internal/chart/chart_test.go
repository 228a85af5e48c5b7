package chart_test

import (
	"bytes"
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
	image, err := png.Decode(&picture)
	require.NoError(t, err)
	assert.Equal(t, chart.Width, image.Bounds().Dx())
	assert.Equal(t, chart.Height, image.Bounds().Dy())

	blue, vermillion := color.NRGBA{R: 0, G: 0x72, B: 0xB2, A: 255}, color.NRGBA{R: 0xD5, G: 0x5E, B: 0, A: 255}
	at := func(x, y float64) color.Color {
		return color.NRGBAModel.Convert(image.At(int(x*chart.Width), int(y*chart.Height)))
	}
	assert.Equal(t, blue, at(0.3, 0.45), "before the block a has the lower half")
	assert.Equal(t, vermillion, at(0.3, 0.25), "and b the upper one")
	assert.Equal(t, blue, at(0.8, 0.25), "then a has everything")
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
