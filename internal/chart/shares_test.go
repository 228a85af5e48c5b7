package chart

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func requestsAt(moments ...time.Duration) []Request {
	requests := make([]Request, len(moments))
	for i, at := range moments {
		requests[i].At = at
	}
	return requests
}

func TestMarksAreEdgesOfBuckets(t *testing.T) {
	d := &Data{
		End:       10,
		Marks:     []Mark{{At: 7}, {At: 20}},
		Endpoints: []Endpoint{{Requests: make([]Request, 5*requestsPerBucket)}},
	}
	assert.Equal(t, []time.Duration{0, 1, 3, 5, 7, 8, 10}, bucketEdges(d))
}

func TestSharesAddUpAndAnEmptyBucketRepeatsTheOneBefore(t *testing.T) {
	d := &Data{Endpoints: []Endpoint{
		{Requests: requestsAt(0, 1, 2)},
		{Requests: requestsAt(3, 25)},
		{Requests: requestsAt(30)}, // the end itself is in no bucket
	}}
	sums := stackedShares(d, []time.Duration{0, 10, 20, 30})
	assert.Equal(t, [][]float64{{0, 0, 0}, {75, 75, 0}, {100, 100, 100}, {100, 100, 100}}, sums)
}

func TestLatencyTicksAreLabelledInTheUnitThatFits(t *testing.T) {
	var labels []string
	for _, tick := range latencyTicks(0.04, 6) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	assert.Equal(t, []string{"50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s", "5 s"}, labels)
}

func TestTimeTicksAreFewAndRound(t *testing.T) {
	for high, step := range map[float64]float64{8: 1, 22: 2, 60: 5, 230: 20} {
		ticks := timeTicks(0, high)
		assert.Equal(t, step, ticks[1].Value-ticks[0].Value, "up to %g s", high)
		assert.LessOrEqual(t, len(ticks), 13)
	}
}
