package chaos

import (
	"math/rand/v2"
	"time"
)

// random is everything that is drawn in one run.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 0))} }

// chance is true that often, from 0 to 1.
func (r random) chance(p float64) bool { return r.Float64() < p }

// between draws evenly from a part of the duration to another: 0.5 and 2 of 10s are 5s to 20s.
func (r random) between(from, to float64, of time.Duration) time.Duration {
	return time.Duration((from + r.Float64()*(to-from)) * float64(of))
}

// oneOf draws one of the values, each as likely as the others.
func oneOf[T any](r random, values ...T) T { return values[r.IntN(len(values))] }
