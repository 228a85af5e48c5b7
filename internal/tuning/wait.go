package tuning

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// wait is how long something took; never is later than the run was long.
type wait time.Duration

const never = wait(math.MaxInt64)

// String prints seconds, and from three minutes on minutes.
func (w wait) String() string {
	took := time.Duration(w)
	if took < 3*time.Minute {
		return fmt.Sprintf("%.0f s", took.Seconds())
	}
	return fmt.Sprintf("%.1f min", took.Minutes())
}

// typical are the median and the worst of some measurements.
type typical[T ~int | ~int64 | ~float64] struct {
	Median, Worst T
}

// summary is of at least one value; with an even number it takes the worse of the two in the middle.
func summary[T ~int | ~int64 | ~float64](values []T) typical[T] {
	sorted := slices.Sorted(slices.Values(values))
	return typical[T]{Median: sorted[len(sorted)/2], Worst: sorted[len(sorted)-1]}
}
