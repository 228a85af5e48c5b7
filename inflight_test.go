package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// begun returns a request whose endpoint was chosen at t = 0.
func begun(r *rule) *request {
	q := newRequest(1)
	q.begin(r, at(0))
	return &q
}

// sent returns a request that was complete at t = 0.
func sent(r *rule) *request {
	q := begun(r)
	q.complete(at(0))
	return q
}

// lateAnswer reports whether an answer is measured, and late.
func (q *request) lateAnswer(byFirstChunk, ended bool, now instant) bool {
	measured, late := q.answer(byFirstChunk, ended, now)
	return measured && late
}

func TestTheClockStartsWhenTheRequestIsComplete(t *testing.T) {
	q := begun(defaults())
	assert.False(t, q.overdue(at(500)), "the client is still sending")
	require.True(t, q.complete(at(100)))
	assert.False(t, q.complete(at(101)), "it is complete once")
	assert.False(t, q.overdue(at(169.999)))
	assert.True(t, q.overdue(at(170)))
	assert.False(t, q.lateAnswer(false, false, at(169.999)))
}

func TestALimitIsReachedNotPassed(t *testing.T) {
	for _, test := range []struct {
		took float64
		late bool
	}{{69.999, false}, {70, true}, {600, true}} {
		assert.Equal(t, test.late, sent(defaults()).lateAnswer(false, false, at(test.took)), "%g s", test.took)
	}
}

func TestAnAnswerBeforeTheRequestIsCompleteIsNoSample(t *testing.T) {
	q := begun(defaults())
	assert.False(t, q.lateAnswer(false, false, at(500)))
	assert.False(t, q.complete(at(501)), "nothing counts any more")
	assert.False(t, q.overdue(at(1000)))
}

func TestAResponseWithoutARequestIsNoSample(t *testing.T) {
	q := newRequest(1)
	assert.False(t, q.open())
	assert.False(t, q.complete(at(0)))
	assert.False(t, q.overdue(at(1000)))
}

func TestANegativeDurationIsNoSample(t *testing.T) {
	assert.False(t, sent(defaults()).lateAnswer(false, false, at(-100)))
	assert.False(t, sent(defaults()).overdue(at(-100)))
}

func TestTheFirstChunkCountsWhereItIsWhatCounts(t *testing.T) {
	q := sent(defaults())
	assert.False(t, q.lateAnswer(true, false, at(71)), "late headers alone are not it")
	require.True(t, q.expectsChunk())
	assert.True(t, q.chunk(false, at(72)))
	assert.False(t, q.expectsChunk(), "the second chunk may take as long as it likes")
	assert.False(t, q.overdue(at(1000)))

	q = sent(defaults())
	assert.False(t, q.lateAnswer(true, false, at(0.2)))
	assert.False(t, q.chunk(false, at(1.5)))
	assert.False(t, q.overdue(at(180)), "a long stream is not a slow endpoint")
}

func TestAnswersThatEndWithTheirHeadersAreMeasuredThere(t *testing.T) {
	r := configured(t, `{"first_chunk_threshold": "10s"}`)
	assert.True(t, sent(r).lateAnswer(true, true, at(10)))
	assert.False(t, sent(r).lateAnswer(true, true, at(9.999)))
	assert.False(t, sent(r).lateAnswer(false, true, at(10)))
}

func TestWhileNothingHasComeBackTheThresholdIsThatOfTheMeasure(t *testing.T) {
	for _, test := range []struct {
		rule     string
		patience time.Duration
	}{
		{`{}`, 70 * time.Second},
		{`{"measure": "headers", "first_chunk_threshold": "90s"}`, 70 * time.Second},
		{`{"measure": "first_chunk", "first_chunk_threshold": "10s"}`, 10 * time.Second},
		{`{"measure": "auto", "first_chunk_threshold": "10s"}`, 70 * time.Second},
		{`{"measure": "auto", "first_chunk_threshold": "90s"}`, 90 * time.Second},
	} {
		assert.Equal(t, at(0).add(test.patience), sent(configured(t, test.rule)).deadline, test.rule)
	}
}

func TestAfterTheHeadersOfAStreamTheFirstChunkThresholdHolds(t *testing.T) {
	q := sent(configured(t, `{"first_chunk_threshold": "10s"}`))
	require.False(t, q.lateAnswer(true, false, at(2)))
	assert.False(t, q.overdue(at(9.999)))
	assert.True(t, q.overdue(at(10)), "ten seconds from the complete request, not from the headers")
}

func TestWhatIsWaitedForSaysHowLong(t *testing.T) {
	q := sent(configured(t, `{"slow_threshold":"20s","first_chunk_threshold":"5s"}`))
	assert.Equal(t, 20*time.Second, q.patience(), "either may come: the longer one")
	q.answer(true, false, at(1))
	assert.Equal(t, 5*time.Second, q.patience(), "the headers are here, the first chunk is not")
}

func TestTheClockOfARequestThatNobodyHadRunsAnew(t *testing.T) {
	q := sent(defaults())
	q.restart(at(70.5))
	assert.False(t, q.overdue(at(140.499)))
	assert.True(t, q.overdue(at(140.5)))
	assert.False(t, q.lateAnswer(false, false, at(140.499)), "the answer is measured by it, too")

	q = sent(configured(t, `{"first_chunk_threshold": "10s"}`))
	require.False(t, q.lateAnswer(true, false, at(2)))
	q.restart(at(12))
	assert.Equal(t, at(22), q.deadline, "by the threshold that holds")
}

func TestALookThatSawNothingIsRepeatedAndMovesNothing(t *testing.T) {
	var f inflight
	q := sent(defaults())
	f.watch(q)
	require.Same(t, q, f.takeOverdue(at(70)))
	q.lookAgain(at(70))
	f.watch(q)
	assert.Nil(t, f.takeOverdue(at(70.999)))
	assert.True(t, q.overdue(at(70.999)))
	assert.Same(t, q, f.takeOverdue(at(71)))
	assert.Equal(t, at(70), q.deadline)
}

func TestAClockThatCannotBeReadStartsNothing(t *testing.T) {
	q := begun(defaults())
	assert.False(t, q.complete(unknown))
	assert.False(t, q.timed())
}

func TestALookFindsOnlyWhatIsOverdueOldestFirst(t *testing.T) {
	var f inflight
	assert.Nil(t, f.takeOverdue(at(1000)))
	for _, second := range []float64{30, 10, 20} {
		q := begun(defaults())
		q.complete(at(second))
		f.watch(q)
	}
	assert.Nil(t, f.takeOverdue(at(79.999)))
	assert.Equal(t, at(10), f.takeOverdue(at(95)).completed)
	assert.Equal(t, at(20), f.takeOverdue(at(95)).completed)
	assert.Nil(t, f.takeOverdue(at(95)))
	assert.Equal(t, at(30), f.takeOverdue(at(100)).completed)
}

// The heap against a plain list, under every operation that a stream can bring.
func TestInflightAgreesWithAPlainList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var f inflight
		var all []*request // those that are watched
		now := at(0)
		rt.Repeat(map[string]func(*rapid.T){
			"watch": func(*rapid.T) {
				q := begun(defaults())
				q.complete(now)
				f.watch(q)
				all = append(all, q)
			},
			"move": func(rt *rapid.T) {
				if len(all) > 0 {
					q := rapid.SampledFrom(all).Draw(rt, "request")
					q.restart(now)
					f.watch(q)
				}
			},
			"forget": func(rt *rapid.T) {
				if len(all) > 0 {
					q := rapid.SampledFrom(all).Draw(rt, "request")
					f.forget(q)
					f.forget(q)
					all = slices.DeleteFunc(all, func(other *request) bool { return other == q })
				}
			},
			"look": func(rt *rapid.T) {
				now = now.add(time.Duration(rapid.IntRange(0, 60).Draw(rt, "seconds")) * time.Second)
				for q := f.takeOverdue(now); q != nil; q = f.takeOverdue(now) {
					require.True(rt, q.overdue(now))
					for _, other := range all {
						require.GreaterOrEqual(rt, other.lookAt, q.lookAt)
					}
					all = slices.DeleteFunc(all, func(other *request) bool { return other == q })
				}
			},
			"": func(rt *rapid.T) {
				require.Len(rt, f.requests, len(all))
				for i, q := range f.requests {
					require.Equal(rt, i, q.index)
				}
			},
		})
		for _, q := range all {
			require.Greater(rt, q.deadline, instant(0))
		}
	})
}

func stallRule(t *testing.T) *rule {
	t.Helper()
	return configured(t, `{"stall_threshold": "20s"}`)
}

// T+0 sent, T+1 the first chunk. Then a chunk each 19.999 s: under way. Then none for 20 s.
func TestAResponseUnderWayStallsWhenItDoesNotGoOn(t *testing.T) {
	var f inflight
	q := sent(stallRule(t))
	require.False(t, q.lateAnswer(true, false, at(0.5)))
	require.False(t, q.chunk(false, at(1)))
	f.watch(q)
	for _, second := range []float64{20.999, 40.998, 60.997} {
		q.bytes(at(second))
		require.Nil(t, f.takeOverdue(at(second)))
	}
	require.Nil(t, f.takeOverdue(at(80.996)))
	require.Same(t, q, f.takeOverdue(at(80.997)))
	assert.True(t, q.stalled(at(80.997)))
}

func TestWithoutAStallThresholdAResponseUnderWayIsSettled(t *testing.T) {
	q := sent(defaults())
	require.False(t, q.lateAnswer(false, false, at(1)))
	assert.False(t, q.streams())
	assert.False(t, q.stalled(at(10_000)))
}

func TestALateOrCompleteAnswerIsNotWatchedForAStall(t *testing.T) {
	late := sent(stallRule(t))
	require.True(t, late.lateAnswer(false, false, at(70)))
	assert.False(t, late.streams(), "one sample at most")
	complete := sent(stallRule(t))
	require.False(t, complete.lateAnswer(false, true, at(1)))
	assert.False(t, complete.streams())
	withTrailers := sent(stallRule(t))
	require.False(t, withTrailers.lateAnswer(true, false, at(1)))
	require.False(t, withTrailers.chunk(true, at(2)))
	assert.False(t, withTrailers.streams())
}

func TestRequestsInFlightAreBoundedAndTheEarliestMakeRoom(t *testing.T) {
	var f inflight
	r := defaults()
	requests := make([]*request, mostInFlight+10)
	for i := range requests {
		requests[i] = begun(r)
		requests[i].complete(at(float64(i)))
		f.watch(requests[i])
	}
	assert.Len(t, f.requests, mostInFlight)
	assert.Equal(t, notInFlight, requests[9].index)
	assert.NotEqual(t, notInFlight, requests[10].index)
	assert.True(t, requests[9].lateAnswer(false, false, at(10_000)))
}
