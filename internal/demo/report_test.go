package demo

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/chart"
)

func TestTheTableHasEveryPhaseAndEndpoint(t *testing.T) {
	var out strings.Builder
	require.NoError(t, WriteTable(&out, good(t)))
	assert.Equal(t, strings.TrimPrefix(`
phase      time            endpoint   requests   share   P50      P95
healthy    0.0 – 5.0 s     a          17         34 %    150 ms   150 ms
                           b          17         34 %    150 ms   150 ms
                           c          16         32 %    150 ms   150 ms
slow       5.0 – 12.6 s    a          26         34 %    150 ms   150 ms
                           b          25         32 %    9.50 s   9.50 s
                           c          26         34 %    150 ms   150 ms
blocked    12.6 – 17.1 s   a          22         50 %    150 ms   150 ms
                           b          0          0 %     –        –
                           c          22         50 %    150 ms   150 ms
returned   17.1 – 22.0 s   a          17         35 %    150 ms   150 ms
                           b          16         33 %    150 ms   150 ms
                           c          16         33 %    150 ms   150 ms
`, "\n"), out.String())
}

func TestAStoryWithoutABlockEndsWithTheSlowPhase(t *testing.T) {
	r := good(t)
	r.Blocks = nil
	var out strings.Builder
	require.NoError(t, WriteTable(&out, r))
	assert.Contains(t, out.String(), "slow      5.0 – 22.0 s")
	assert.NotContains(t, out.String(), "returned")
}

func TestAQuantileIsOneOfTheValues(t *testing.T) {
	values := make([]time.Duration, 100)
	for i := range values {
		values[99-i] = time.Duration(i + 1)
	}
	assert.Equal(t, time.Duration(50), quantile(values, 0.5))
	assert.Equal(t, time.Duration(95), quantile(values, 0.95))
	assert.Equal(t, time.Duration(1), quantile(values[99:], 0.95))
	assert.Equal(t, time.Duration(2), quantile([]time.Duration{1, 2, 3}, 0.5))
}

func TestTheRequestsThatTheHealAnsweredAreThoseStillWaitingThen(t *testing.T) {
	at := func(endpoint string, sent, latency time.Duration) Request {
		return Request{Endpoint: endpoint, Sent: sent, Latency: latency}
	}
	r := &Recording{Slow: "b", Heal: 15 * time.Second, Requests: []Request{
		at("b", 5*time.Second, 9500*ms), // answered before, slow as it was
		at("b", 9*time.Second, 6100*ms),
		at("a", 14950*ms, 150*ms), // another endpoint's
		at("b", 17*time.Second, 150*ms),
	}}
	assert.Equal(t, r.Requests[1:2], heldUntilHeal(r))
}

func TestThePictureRendersWithAndWithoutABlock(t *testing.T) {
	r := good(t)
	for _, blocks := range [][]Block{r.Blocks, nil} {
		r.Blocks = blocks
		var picture bytes.Buffer
		require.NoError(t, WritePicture(&picture, r))
		image, err := png.Decode(&picture)
		require.NoError(t, err)
		assert.Equal(t, chart.Width, image.Bounds().Dx())
	}
}
