package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/blocklist"
	"endpoint-breaker/internal/wasmhost"
)

// witness is an observer that notes what it is told.
type witness struct {
	blocks  []seenBlock
	logs    []string
	trouble []error
}

func (w *witness) blocked(b seenBlock)      { w.blocks = append(w.blocks, b) }
func (w *witness) decided(string, decision) {}
func (w *witness) logged(text string)       { w.logs = append(w.logs, text) }
func (w *witness) broken(err error)         { w.trouble = append(w.trouble, err) }

// afterZero is a moment so many nanoseconds after the zero of pluginTime.
func afterZero(ns time.Duration) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(ns)
}

// watched is a store with a blocklist, and a clock that shows 1000 to the plugin when it is
// afterZero(0) elsewhere.
type watched struct {
	store *wasmhost.SharedData
	list  *blocklist.Reader
	clock *wasmhost.VirtualClock
	witness
}

func newWatched() *watched {
	store := wasmhost.NewSharedData()
	return &watched{store: store, list: blocklist.NewReader(store), clock: wasmhost.NewVirtualClock(1000, afterZero(0))}
}

func (w *watched) write(value string) { w.store.Set(blocklist.Key, []byte(value), 0) }

func (w *watched) look() error {
	return tellBlocks(w.list, pluginClock{Clock: w.clock, monotonic: 1000, time: afterZero(0)}, w)
}

func TestBlocksAreReadFromTheSharedDataOnTheClockOfAll(t *testing.T) {
	w := newWatched()
	w.clock.Advance(7)
	require.NoError(t, w.look(), "the key may be missing at first")
	w.write(`{"version":1,"blocks":[
		{"cluster":"c","endpoint":"10.0.0.2:80","since":1005,"until":1050,"strikes":1,"reason":"in_flight","observed":false},
		{"cluster":"c","endpoint":"10.0.0.1:80","since":1005,"until":1050,"strikes":1,"reason":"headers","observed":true}]}`)
	require.NoError(t, w.look())
	require.NoError(t, w.look(), "what has not changed is told once")
	assert.Equal(t, []seenBlock{{
		address: "10.0.0.2:80", since: afterZero(5), until: afterZero(50), seen: afterZero(7), strikes: 1, reason: "in_flight",
	}}, w.blocks, "an observed block steers nothing")
}

func TestADamagedBlocklistIsAnErrorThatShowsIt(t *testing.T) {
	w := newWatched()
	w.write("junk")
	require.ErrorContains(t, w.look(), `shared data endpoint-breaker.blocklist: invalid character 'j'`)
}

func TestTheEmbeddedGatewaysWarningsAreKeptWithTheirKeyword(t *testing.T) {
	var w witness
	g := &embedded{observer: &w}
	g.log(wasmhost.LogLine{Level: wasmhost.LogInfo, Message: "started"})
	g.log(wasmhost.LogLine{Level: wasmhost.LogWarn, Message: "[endpoint-breaker] [1] endpoint-breaker block reason=headers"})
	g.log(wasmhost.LogLine{Worker: 1, Level: wasmhost.LogCritical, Message: "panic"})
	assert.Equal(t, []string{"log of worker 0: endpoint-breaker block reason=headers", "log of worker 1: panic"}, w.logs)
}
