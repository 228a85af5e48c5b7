package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moments lists when the requests of a traffic arrive.
func moments(traffic Traffic, to time.Duration) []time.Duration {
	end := Duration(to)
	traffic.To = &end
	s := newSource(&traffic, newRandom(1, ""), func(int) int { return 0 })
	var all []time.Duration
	for a, more := s.next(); more; a, more = s.next() {
		all = append(all, a.At)
	}
	return all
}

func TestAConstantRateDoesNotDrift(t *testing.T) {
	got := moments(Traffic{From: Duration(time.Second), Rate: 3}, 11*time.Second)
	assert.Len(t, got, 30)
	for i := 0; i < 30; i += 3 {
		assert.Equal(t, time.Duration(1+i/3)*time.Second, got[i])
	}
}

func TestABurstIsSpreadEvenly(t *testing.T) {
	got := moments(Traffic{Burst: 4, Over: Duration(8 * time.Second)}, time.Minute)
	assert.Equal(t, []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second}, got)
}

func TestABurstOverALongTimeDoesNotOverflow(t *testing.T) {
	const n = 110_000 // times 24h is more than an int64 of nanoseconds
	got := moments(Traffic{Burst: n, Over: Duration(24 * time.Hour)}, 24*time.Hour)
	require.Len(t, got, n)
	assert.Equal(t, 12*time.Hour, got[n/2])
	for i := 1; i < n; i++ {
		require.InDelta(t, 24*time.Hour/n, got[i]-got[i-1], 1, i)
	}
}

func TestPoissonArrivalsHaveTheRateAsTheirMean(t *testing.T) {
	got := moments(Traffic{Rate: 10, Arrivals: "poisson"}, 1000*time.Second)
	assert.InDelta(t, 10_000, len(got), 300)
}

func TestHowRequestsFallOnWorkers(t *testing.T) {
	two := 2
	for _, c := range []struct {
		name    string
		traffic Traffic
		want    []float64 // of 4 workers
	}{
		{"evenly", Traffic{}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"at random", Traffic{Spread: "random"}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"by weight", Traffic{Weights: []float64{5, 1, 1, 1}}, []float64{0.625, 0.125, 0.125, 0.125}},
		{"pinned", Traffic{Worker: &two}, []float64{0, 0, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const n = 10_000
			worker := spread(&c.traffic, 4, newRandom(1, ""))
			counts := make([]float64, 4)
			for i := range n {
				counts[worker(i)] += 1.0 / n
			}
			assert.InDeltaSlice(t, c.want, counts, 0.02)
		})
	}
}
