package demo

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnExtensionMovesTheEndOfABlockAndNothingElse(t *testing.T) {
	book := newBlockBook()
	first := seenBlock{address: "10.0.0.2:80", since: afterZero(5), until: afterZero(50), seen: afterZero(7), strikes: 1, reason: "in_flight"}
	book.note(first)
	longer := first
	longer.until, longer.seen = afterZero(70), afterZero(9)
	book.note(longer)
	first.until = afterZero(70)
	assert.Equal(t, []seenBlock{first}, book.all())

	again := seenBlock{address: "10.0.0.2:80", since: afterZero(80), until: afterZero(90), strikes: 2}
	other := seenBlock{address: "10.0.0.1:80", since: afterZero(80), until: afterZero(90), strikes: 1}
	book.note(again)
	book.note(other)
	assert.Equal(t, []seenBlock{first, again, other}, book.all())
}

func TestWaitingForABlockEndsWithItOrWithTheContext(t *testing.T) {
	book := newBlockBook()
	found := make(chan bool)
	go func() { found <- book.waitFor(t.Context(), "10.0.0.2:80") }()
	book.note(seenBlock{address: "10.0.0.1:80"})
	book.note(seenBlock{address: "10.0.0.2:80"})
	assert.True(t, <-found)

	ended, end := context.WithCancel(t.Context())
	end()
	assert.False(t, book.waitFor(ended, "10.0.0.3:80"))
}
