package wasmhost

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestPairsSurviveTheirWireForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]string {
			return [2]string{rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")}
		}), 1, 20).Draw(t, "pairs")
		assert.Equal(t, pairs, decodePairs(encodePairs(pairs)))
	})
}

func TestMalformedPairsAreNoPairs(t *testing.T) {
	good := encodePairs([][2]string{{"name", "value"}})
	for end := range good {
		assert.Empty(t, decodePairs(good[:end]), "cut off at %d", end)
	}
	assert.Empty(t, decodePairs(append(good, 0)), "bytes behind the last pair")
	assert.Empty(t, decodePairs([]byte{255, 255, 255, 255}), "more pairs than bytes")
	long := encodePairs([][2]string{{"name", "value"}})
	long[4] = 255
	assert.Empty(t, decodePairs(long), "a name longer than the data")
	unended := encodePairs([][2]string{{"name", "value"}})
	unended[16] = 'x'
	assert.Empty(t, decodePairs(unended), "no zero byte behind the name")
}

func FuzzDecodePairs(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodePairs([][2]string{{"a", "b"}, {"", ""}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if pairs := decodePairs(data); pairs != nil {
			assert.Equal(t, data, encodePairs(pairs))
		}
	})
}
