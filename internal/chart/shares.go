package chart

import (
	"slices"
	"time"

	"gonum.org/v1/plot/plotter"
)

// requestsPerBucket is what a step of the upper panel stands for, on average: enough
// that chance does not dominate the shares.
const requestsPerBucket = 20

// maxBuckets keeps the steps wide enough to be seen as such.
const maxBuckets = 60

// bucketEdges cuts the time into buckets of about the same length. Marks are edges,
// so that a change at a mark shows there and not a bucket later.
func bucketEdges(d *Data) []time.Duration {
	total := 0
	for _, endpoint := range d.Endpoints {
		total += len(endpoint.Requests)
	}
	length := d.End / time.Duration(min(max(total/requestsPerBucket, 1), maxBuckets))
	cuts := []time.Duration{0, d.End}
	for _, mark := range d.Marks {
		if mark.At > 0 && mark.At < d.End {
			cuts = append(cuts, mark.At)
		}
	}
	slices.Sort(cuts)
	edges := []time.Duration{0}
	for i := 1; i < len(cuts); i++ {
		from, span := cuts[i-1], cuts[i]-cuts[i-1]
		pieces := max(int((span+length/2)/length), 1)
		for piece := 1; piece <= pieces; piece++ {
			edges = append(edges, from+span*time.Duration(piece)/time.Duration(pieces))
		}
	}
	return edges
}

// stackedShares gives, for each bucket, the sum in percent of the shares of the first
// i endpoints. A bucket without requests repeats the one before.
func stackedShares(d *Data, edges []time.Duration) [][]float64 {
	buckets := len(edges) - 1
	counts := make([][]float64, len(d.Endpoints))
	total := make([]float64, buckets)
	for i, endpoint := range d.Endpoints {
		counts[i] = make([]float64, buckets)
		for _, request := range endpoint.Requests {
			if b := bucketOf(request.At, edges); b >= 0 {
				counts[i][b]++
				total[b]++
			}
		}
	}
	sums := make([][]float64, len(d.Endpoints)+1)
	sums[0] = make([]float64, buckets)
	for i := range d.Endpoints {
		sums[i+1] = make([]float64, buckets)
		for b := range buckets {
			switch {
			case total[b] > 0:
				sums[i+1][b] = sums[i][b] + 100*counts[i][b]/total[b]
			case b > 0:
				sums[i+1][b] = sums[i+1][b-1]
			}
		}
	}
	return sums
}

// bucketOf is the bucket of a moment, -1 for none.
func bucketOf(at time.Duration, edges []time.Duration) int {
	i, found := slices.BinarySearch(edges, at)
	if !found {
		i--
	}
	if i >= len(edges)-1 {
		return -1
	}
	return i
}

// band is the outline of one endpoint's steps between two sums.
func band(edges []time.Duration, below, above []float64) plotter.XYs {
	var outline plotter.XYs
	for b, y := range above {
		outline = append(outline,
			plotter.XY{X: edges[b].Seconds(), Y: y}, plotter.XY{X: edges[b+1].Seconds(), Y: y})
	}
	for b, y := range slices.Backward(below) {
		outline = append(outline,
			plotter.XY{X: edges[b+1].Seconds(), Y: y}, plotter.XY{X: edges[b].Seconds(), Y: y})
	}
	return outline
}
