package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func onA(number uint64) attempt { return attempt{endpoint: hostA, number: number} }
func onB(number uint64) attempt { return attempt{endpoint: hostB, number: number} }

const seventy = 70 * time.Second

func TestTheFirstAttemptHasHadTheRequestFromTheBeginning(t *testing.T) {
	q := sent(defaults())
	s, known := q.share(onA(1), seventy, at(70), at(70.4))
	assert.True(t, known)
	assert.Equal(t, sample{started: at(0), reached: at(70)}, s)
}

// T+0 to A, T+30 retried to B. T+70 the tick sees B for the first time: nobody knows since when.
// T+140 it is still B: it has had the request for 70 s at least.
func TestALaterAttemptAnswersForTheTimeSinceItWasSeen(t *testing.T) {
	q := sent(defaults())
	_, known := q.share(onB(2), seventy, at(70), at(70.2))
	assert.False(t, known)
	q.note(onB(2), seventy, at(70.2))
	assert.Equal(t, at(140.2), q.lookAt)
	_, known = q.share(onB(2), seventy, at(70), at(140.1))
	assert.False(t, known)
	s, known := q.share(onB(2), seventy, at(70), at(140.5))
	assert.True(t, known)
	assert.Equal(t, sample{started: at(70.2), reached: at(140.2)}, s)
}

func TestAnAttemptThatChangesBeginsAnew(t *testing.T) {
	for name, next := range map[string]attempt{
		"another endpoint":            onA(3),
		"the same endpoint again":     onB(3),
		"another address, same count": onA(2),
	} {
		q := sent(defaults())
		q.note(onB(2), seventy, at(70))
		_, known := q.share(next, seventy, at(70), at(140))
		assert.False(t, known, name)
		q.note(next, seventy, at(140))
		assert.Equal(t, at(210), q.lookAt, name)
	}
}

func TestALookThatSeesTheSameAttemptTooEarlyDoesNotMoveItsBeginning(t *testing.T) {
	q := sent(defaults())
	q.note(onB(2), seventy, at(70))
	q.note(onB(2), seventy, at(100))
	s, known := q.share(onB(2), seventy, at(70), at(140))
	assert.True(t, known)
	assert.Equal(t, at(70), s.started)
}

// An answer at T+100 after two attempts. At the stream's end at T+130 Envoy says how long the
// last attempt took to its last byte.
func TestALastAttemptAnswersForItsOwnTimeUntilTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		took  time.Duration
		known bool
	}{
		"exactly the threshold before the answer": {100 * time.Second, true},
		"less than that":         {99_999 * time.Millisecond, false},
		"all of it was the body": {30 * time.Second, false},
		"nothing":                {0, false},
	} {
		q := sent(defaults())
		q.awaitEnd(reasonHeaders, seventy, at(100))
		s, known := q.ownShare(c.took, at(130))
		assert.Equal(t, c.known, known, name)
		if known {
			assert.Equal(t, sample{started: at(30), reached: at(100)}, s, name)
		}
	}
}
