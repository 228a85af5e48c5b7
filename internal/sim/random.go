package sim

import (
	"hash/fnv"
	"math/rand/v2"
)

// newRandom gives the stream of random numbers that belongs to a seed and a
// purpose.
func newRandom(seed uint64, purpose string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, hash.Sum64()))
}
