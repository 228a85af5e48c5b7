package wasmhost

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The contract is that of proxy-wasm-cpp-host, as its test/shared_data_test.cc
// states it.

func TestAMissingKeyIsNotFound(t *testing.T) {
	value, cas, status := NewSharedData().Get("missing")
	assert.Equal(t, StatusNotFound, status)
	assert.Empty(t, value)
	assert.Zero(t, cas)
}

func TestASetWithoutANumberIsUnconditional(t *testing.T) {
	store := NewSharedData()
	require.Equal(t, StatusOK, store.Set("key", []byte("1"), 0))
	require.Equal(t, StatusOK, store.Set("key", []byte("2"), 0))
	value, _, status := store.Get("key")
	require.Equal(t, StatusOK, status)
	assert.Equal(t, "2", string(value))
}

func TestASetWithAWrongNumberChangesNothing(t *testing.T) {
	store := NewSharedData()
	require.Equal(t, StatusOK, store.Set("key", []byte("1"), 0))
	_, before, _ := store.Get("key")
	require.Equal(t, StatusCasMismatch, store.Set("key", []byte("2"), before+99))
	value, after, _ := store.Get("key")
	assert.Equal(t, "1", string(value))
	assert.Equal(t, before, after)
}

func TestASetWithTheRightNumberSucceedsOnce(t *testing.T) {
	store := NewSharedData()
	require.Equal(t, StatusOK, store.Set("key", []byte("1"), 0))
	_, cas, _ := store.Get("key")
	require.Equal(t, StatusOK, store.Set("key", []byte("2"), cas))
	assert.Equal(t, StatusCasMismatch, store.Set("key", []byte("3"), cas))
}

func TestASetOnAMissingKeySucceedsWithAnyNumber(t *testing.T) {
	for _, cas := range []uint32{0, 1, 100, 1<<32 - 1} {
		store := NewSharedData()
		require.Equal(t, StatusOK, store.Set("key", []byte("v"), cas))
		_, given, status := store.Get("key")
		require.Equal(t, StatusOK, status)
		assert.Equal(t, uint32(1), given, "the number comes from the store, not from the caller")
	}
}

func TestNumbersComeFromOneCounterOfTheStore(t *testing.T) {
	store := NewSharedData()
	numbers := func(key string) uint32 {
		require.Equal(t, StatusOK, store.Set(key, nil, 0))
		_, cas, status := store.Get(key)
		require.Equal(t, StatusOK, status)
		return cas
	}
	assert.Equal(t, []uint32{1, 2, 3, 4}, []uint32{numbers("a"), numbers("a"), numbers("b"), numbers("a")})
}

func TestTheCounterStepsOverZero(t *testing.T) {
	store := NewSharedData()
	store.lastCas = 1<<32 - 1
	require.Equal(t, StatusOK, store.Set("key", nil, 0))
	_, cas, _ := store.Get("key")
	assert.Equal(t, uint32(1), cas, "0 would mean: do not check")
}

func TestKeysDoNotTouchEachOther(t *testing.T) {
	store := NewSharedData()
	require.Equal(t, StatusOK, store.Set("b", []byte("2"), 0))
	require.Equal(t, StatusOK, store.Set("a", []byte("1"), 0))
	_, cas, _ := store.Get("a")
	require.Equal(t, StatusOK, store.Set("b", []byte("3"), 0))
	require.Equal(t, StatusOK, store.Set("a", []byte("4"), cas), "a write to b must not move a's number")
	value, _, _ := store.Get("b")
	assert.Equal(t, "3", string(value))
	assert.Equal(t, []string{"a", "b"}, store.Keys())
}

func TestTheStoreSharesNoMemoryWithItsCallers(t *testing.T) {
	store := NewSharedData()
	given := []byte("abc")
	require.Equal(t, StatusOK, store.Set("key", given, 0))
	given[0] = 'x'
	got, _, _ := store.Get("key")
	got[1] = 'x'
	again, _, _ := store.Get("key")
	assert.Equal(t, "abc", string(again))
}

func TestNoUpdateIsLostBetweenWriters(t *testing.T) {
	const writers, rounds = 8, 200
	store := NewSharedData()
	require.Equal(t, StatusOK, store.Set("count", []byte("0"), 0))
	var group sync.WaitGroup
	start := make(chan struct{})
	for range writers {
		group.Go(func() {
			<-start
			for range rounds {
				for !addOne(store) {
				}
			}
		})
	}
	close(start)
	group.Wait()
	value, _, _ := store.Get("count")
	assert.Equal(t, strconv.Itoa(writers*rounds), string(value))
}

func addOne(store *SharedData) bool {
	value, cas, _ := store.Get("count")
	count, err := strconv.Atoi(string(value))
	if err != nil {
		panic(err)
	}
	return store.Set("count", []byte(strconv.Itoa(count+1)), cas) == StatusOK
}
