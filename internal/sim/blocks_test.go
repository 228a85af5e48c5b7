package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// watched is a blockWatch over a store that a test writes to.
type watched struct {
	*blockWatch
	store *wasmhost.SharedData
	log   bytes.Buffer
	time  time.Duration
}

func watch(t *testing.T) *watched {
	t.Helper()
	s, err := Parse([]byte(minimal))
	require.NoError(t, err)
	w := &watched{store: wasmhost.NewSharedData()}
	w.blockWatch = newBlockWatch(s, w.store, NewEventLog(&w.log, func() time.Duration { return w.time }))
	return w
}

// write stores entries of the form "address since until", in seconds of the run.
func (w *watched) write(now float64, entries ...string) {
	var blocks []string
	for _, entry := range entries {
		var address string
		var since, until float64
		_, _ = fmt.Sscan(entry, &address, &since, &until)
		blocks = append(blocks, fmt.Sprintf(`{"cluster":"llm","endpoint":%q,"since":%d,"until":%d,"strikes":1,"reason":"headers"}`,
			address, startMonotonic+seconds(since), startMonotonic+seconds(until)))
	}
	w.store.Set(blocklist.Key, []byte(`{"version":1,"blocks":[`+strings.Join(blocks, ",")+`]}`), 0)
	w.time = seconds(now)
	w.look(w.time)
}

func TestTheTimeLineOfBlocks(t *testing.T) {
	w := watch(t)
	w.write(0)
	w.write(10, "10.0.0.1:8000 10 55")
	w.write(20, "10.0.0.1:8000 10 65", "10.9.9.9:80 20 65")  // extended; another one, unknown here
	w.write(70, "10.0.0.1:8000 10 65", "10.9.9.9:80 20 65")  // both over
	w.write(80, "10.0.0.1:8000 80 125", "10.9.9.9:80 20 65") // again
	require.Len(t, w.episodes, 3)
	first, second, third := w.episodes[0], w.episodes[1], w.episodes[2]
	assert.Equal(t, "A", first.Endpoint)
	assert.Equal(t, seconds(10), first.Seen)
	assert.Equal(t, seconds(65), first.Until)
	assert.Equal(t, 1, first.Extended)
	assert.Equal(t, "10.9.9.9:80", second.Endpoint)
	assert.Equal(t, seconds(80), third.Seen)
	for _, block := range w.episodes {
		assert.False(t, block.Lost)
	}
}

func TestABlockThatDisappearsBeforeItsTimeIsLost(t *testing.T) {
	w := watch(t)
	w.write(10, "10.0.0.1:8000 10 55")
	w.write(20)
	require.Len(t, w.episodes, 1)
	assert.True(t, w.episodes[0].Lost)
	assert.Equal(t, seconds(20), w.episodes[0].Until)
}

func TestABlockWhoseEndMovesNearerIsShortened(t *testing.T) {
	w := watch(t)
	w.write(10, "10.0.0.1:8000 10 55")
	w.write(20, "10.0.0.1:8000 10 30")
	require.Len(t, w.episodes, 1)
	assert.Equal(t, 1, w.episodes[0].Shortened)
	assert.Zero(t, w.episodes[0].Extended)
	assert.Equal(t, seconds(30), w.episodes[0].Until)
}

func TestAnExpiredEntryMayGo(t *testing.T) {
	w := watch(t)
	w.write(10, "10.0.0.1:8000 10 55")
	w.write(55)
	assert.False(t, w.episodes[0].Lost)
}

func TestABlocklistThatCannotBeReadIsLogged(t *testing.T) {
	w := watch(t)
	w.store.Set(blocklist.Key, []byte("{"), 0)
	w.look(0)
	require.NoError(t, w.blockWatch.log.Flush())
	assert.Contains(t, w.log.String(), "blocklist unreadable")
}
