package main

import "time"

// attempt is one try of Envoy to have a request answered. With retries an endpoint answers only
// for the time that it had itself (docs/design.md, Behavior 1, "Whose").
type attempt struct {
	endpoint string // empty: no endpoint has the request
	number   uint64 // from 1
}

// sighting is an attempt, and since when this worker knows of it.
type sighting struct {
	attempt
	since instant
}

// share returns the sample that an attempt amounts to, if it is known to have had the request
// for the threshold: the first attempt has had it from the beginning, a later one at least since
// it was seen. reached is when the whole request reached its threshold.
func (q *request) share(a attempt, threshold time.Duration, reached, now instant) (s sample, ok bool) {
	switch {
	case a.number <= 1:
		return sample{started: q.chosen, reached: reached}, true
	case a == q.seen.attempt && now.since(q.seen.since) >= threshold:
		return sample{started: q.seen.since, reached: q.seen.since.add(threshold)}, true
	default:
		return sample{}, false
	}
}

// note remembers an attempt that has not had the request for long enough, and has the tick look
// again when it would have.
func (q *request) note(a attempt, threshold time.Duration, now instant) {
	if a != q.seen.attempt {
		q.seen = sighting{a, now}
	}
	q.lookAt = q.seen.since.add(threshold)
}

// ownShare returns the sample of the last attempt of an answer that was late as a whole, from how
// long that attempt took to its last byte, which Envoy tells when the stream has ended.
func (q *request) ownShare(took time.Duration, ended instant) (s sample, ok bool) {
	untilAnswer := took - ended.since(q.answered)
	if untilAnswer < q.threshold {
		return sample{}, false
	}
	return sample{started: q.answered.add(-untilAnswer), reached: q.answered}, true
}
