package demo

import (
	"context"
	"slices"
	"sync"
)

// blockBook keeps the blocks that the gateway has told of.
type blockBook struct {
	mu     sync.Mutex
	blocks []seenBlock
	added  chan struct{} // closed and replaced at each new block
}

func newBlockBook() *blockBook { return &blockBook{added: make(chan struct{})} }

// note adds a block, or moves the end of one that is known.
func (b *blockBook) note(block seenBlock) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.blocks {
		if known := &b.blocks[i]; known.address == block.address && known.since.Equal(block.since) {
			known.until = block.until
			return
		}
	}
	b.blocks = append(b.blocks, block)
	close(b.added)
	b.added = make(chan struct{})
}

// all are in the order in which they were seen.
func (b *blockBook) all() []seenBlock {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.blocks)
}

// waitFor returns when the address has been blocked, or false when ctx ends before.
func (b *blockBook) waitFor(ctx context.Context, address string) bool {
	for {
		b.mu.Lock()
		added := b.added
		found := slices.ContainsFunc(b.blocks, func(s seenBlock) bool { return s.address == address })
		b.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-added:
		case <-ctx.Done():
			return false
		}
	}
}
