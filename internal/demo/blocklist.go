package demo

import (
	"context"
	"sync"
	"time"

	"endpoint-breaker/internal/blocklist"
)

const lookEvery = 2 * time.Millisecond

// watcher follows the plugin's blocklist in the shared data, as every worker sees it.
type watcher struct {
	list  *blocklist.Reader
	now   func() time.Duration // since the start of the load
	base  time.Duration        // when that was, on the clock by which the plugin writes
	names map[string]string    // address → endpoint

	mu     sync.Mutex
	blocks []Block
	added  chan struct{} // closed and replaced at each new block
}

// run looks until ctx ends. Its error is a value that it cannot read.
func (w *watcher) run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := w.look(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *watcher) look() error {
	entries, changed, err := w.list.Changed()
	if err != nil || !changed {
		return err
	}
	seen := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, entry := range entries {
		if entry.Observed {
			continue
		}
		w.note(Block{
			Endpoint: w.names[entry.Endpoint],
			Since:    entry.Since - w.base, Until: entry.Until - w.base, Seen: seen,
			Strikes: entry.Strikes, Reason: entry.Reason,
		})
	}
	return nil
}

// note adds a block, or moves the end of one that is known.
func (w *watcher) note(b Block) {
	for i := range w.blocks {
		if known := &w.blocks[i]; known.Endpoint == b.Endpoint && known.Since == b.Since {
			known.Until = b.Until
			return
		}
	}
	w.blocks = append(w.blocks, b)
	close(w.added)
	w.added = make(chan struct{})
}

func (w *watcher) all() []Block {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Block(nil), w.blocks...)
}

// waitFor returns the first block of the endpoint, or false when ctx ends before.
func (w *watcher) waitFor(ctx context.Context, endpoint string) (Block, bool) {
	for {
		w.mu.Lock()
		added := w.added
		block, found := firstOf(endpoint, w.blocks)
		w.mu.Unlock()
		if found {
			return block, true
		}
		select {
		case <-added:
		case <-ctx.Done():
			return Block{}, false
		}
	}
}
