package demo

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// watched is a watcher and the store that it looks at.
type watched struct {
	*watcher
	store *wasmhost.SharedData
}

func newWatcher(now *time.Duration) *watched {
	store := wasmhost.NewSharedData()
	return &watched{store: store, watcher: &watcher{
		list:  blocklist.NewReader(store),
		now:   func() time.Duration { return *now },
		base:  1000,
		names: map[string]string{"10.0.0.1:80": "gpu-a", "10.0.0.2:80": "gpu-b"},
		added: make(chan struct{}),
	}}
}

func (w *watched) write(value string) { w.store.Set(blocklist.Key, []byte(value), 0) }

func TestBlocksAreReadFromTheSharedDataOnTheStorysTime(t *testing.T) {
	now := time.Duration(7)
	w := newWatcher(&now)
	require.NoError(t, w.look(), "the key may be missing at first")
	w.write(`{"version":1,"blocks":[
		{"cluster":"c","endpoint":"10.0.0.2:80","since":1005,"until":1050,"strikes":1,"reason":"in_flight","observed":false},
		{"cluster":"c","endpoint":"10.0.0.1:80","since":1005,"until":1050,"strikes":1,"reason":"headers","observed":true}]}`)
	require.NoError(t, w.look())
	want := Block{Endpoint: "gpu-b", Since: 5, Until: 50, Seen: 7, Strikes: 1, Reason: "in_flight"}
	assert.Equal(t, []Block{want}, w.all(), "an observed block steers nothing")

	now = 9
	w.write(`{"version":1,"blocks":[{"endpoint":"10.0.0.2:80","since":1005,"until":1070,"strikes":1,"reason":"in_flight"}]}`)
	require.NoError(t, w.look())
	want.Until = 70
	assert.Equal(t, []Block{want}, w.all(), "an extension moves the end and nothing else")

	w.write(`{"version":1,"blocks":[{"endpoint":"10.0.0.2:80","since":1080,"until":1090,"strikes":2,"reason":"headers"}]}`)
	require.NoError(t, w.look())
	assert.Len(t, w.all(), 2)
}

func TestADamagedBlocklistIsAnErrorThatShowsIt(t *testing.T) {
	now := time.Duration(0)
	w := newWatcher(&now)
	w.write("junk")
	require.ErrorContains(t, w.look(), `shared data endpoint-breaker.blocklist: invalid character 'j'`)
}

func TestWaitingForABlockEndsWithItOrWithTheContext(t *testing.T) {
	now := time.Duration(0)
	w := newWatcher(&now)
	found := make(chan Block)
	go func() {
		block, _ := w.waitFor(t.Context(), "gpu-b")
		found <- block
	}()
	w.write(`{"version":1,"blocks":[{"endpoint":"10.0.0.1:80","since":1001,"until":1050}]}`)
	require.NoError(t, w.look())
	w.write(`{"version":1,"blocks":[{"endpoint":"10.0.0.2:80","since":1002,"until":1050}]}`)
	require.NoError(t, w.look())
	assert.Equal(t, time.Duration(2), (<-found).Since)

	ended, end := context.WithCancel(t.Context())
	end()
	_, ok := w.waitFor(ended, "gpu-c")
	assert.False(t, ok)
}
