package compare

import (
	"math"
	"slices"
	"time"
)

// endpointCount is how many endpoints each cluster has, and so what a fair share is.
const endpointCount = 3

// onTheWay is more than a request ever takes to its endpoint.
const onTheWay = 500 * time.Millisecond

// landing is one request when it reached an endpoint.
type landing struct {
	at       time.Duration
	endpoint int
}

// answer is one request as its client saw it.
type answer struct {
	sent, latency time.Duration // until the last byte, or until it failed
	endpoint      int           // -1 = nobody said who answered
	code          int           // 0 = there was no answer
	failed        bool          // no whole answer of an endpoint
	timedOut      bool          // failed because the client had waited for clientTimeout
	long          bool          // the prompt was long, a late answer is healthy
}

// traffic is all that was seen from outside: by the endpoints and by the clients.
type traffic struct {
	landings []landing // in the order of their time
	answers  []answer
	timeline Timeline
	faulty   []int // endpoints, while the fault lasts
	windows  windows
}

// Figures are what one set-up did under one fault. All come from the traffic itself,
// nothing from what Envoy or the plugin says of itself, so that they mean the same for
// every set-up.
type Figures struct {
	// Sent are the requests of the whole run; Requests those from the fault on.
	Sent, Requests int
	// FailedBefore is how many of the requests before it got no whole answer, without those
	// that may have been on their way when it came.
	FailedBefore int
	// Landed of DuringFault requests reached the slow endpoint while the fault lasted.
	// Both are 0 where the fault has no slow endpoint among healthy ones.
	Landed, DuringFault int
	// UntilNone runs from the fault to the last request that the slow endpoint got before
	// a first stretch without one.
	UntilNone Wait
	// P50 and P99 count a request without a whole answer as one that waited for ever.
	P50, P99 Wait
	// Failed of Requests got no whole answer; TimedOut of these are clients that gave up.
	Failed, TimedOut int
	// Refused is how many answers of the whole run were a 503.
	Refused int
	// FullShare runs from the healing to the first request with which every endpoint has
	// about its share again.
	FullShare Wait
	// Kept is how many requests healthy endpoints missed of their third, one figure per
	// endpoint: in stretches without a request, as far as the endpoint was healthy.
	Kept [endpointCount]int
	// SlowestHealthy is the longest answer by a healthy endpoint; the breaker is not the
	// one to blame for it, the machine is.
	SlowestHealthy time.Duration
}

// Wait is how long something took to come.
type Wait struct {
	After time.Duration
	Never bool // it did not come
	None  bool // there was nothing to wait for
}

// AllKept is the sum over the endpoints.
func (f Figures) AllKept() int {
	sum := 0
	for _, kept := range f.Kept {
		sum += kept
	}
	return sum
}

// landedShare compares clients that send the more the sooner they are answered, too.
func (f Figures) landedShare() float64 { return float64(f.Landed) / float64(max(f.DuringFault, 1)) }

func (t *traffic) measure() Figures {
	f := Figures{Sent: len(t.answers), UntilNone: Wait{None: true}, FullShare: t.fullShare()}
	if slow, one := t.slowEndpoint(); one {
		f.Landed, f.DuringFault = t.landed(slow)
		f.UntilNone = t.untilNone(slow)
	}
	since := t.since(t.timeline.Fault)
	f.Requests = len(since)
	f.P50, f.P99 = quantile(since, 0.5), quantile(since, 0.99)
	for _, a := range since {
		f.Failed += count(a.failed)
		f.TimedOut += count(a.timedOut)
	}
	for _, a := range t.answers {
		f.Refused += count(a.code == 503)
		f.FailedBefore += count(a.failed && a.sent < t.timeline.Fault-onTheWay)
		if a.endpoint >= 0 && !a.failed && !a.long && t.healthyThroughout(a) {
			f.SlowestHealthy = max(f.SlowestHealthy, a.latency)
		}
	}
	for endpoint := range f.Kept {
		f.Kept[endpoint] = t.kept(endpoint)
	}
	return f
}

// slowEndpoint is the one that has the fault while others are healthy.
func (t *traffic) slowEndpoint() (endpoint int, one bool) {
	if len(t.faulty) != 1 {
		return 0, false
	}
	return t.faulty[0], true
}

func (t *traffic) healthy(endpoint int, at time.Duration) bool {
	return at < t.timeline.Fault || at >= t.timeline.Heal || !slices.Contains(t.faulty, endpoint)
}

// rush is longer than it takes to answer at once all that was held up by a fault.
const rush = 2 * time.Second

// healthyThroughout tells whether the endpoint was healthy from the request to its answer, and
// had nothing to catch up on.
func (t *traffic) healthyThroughout(a answer) bool {
	ended := a.sent + a.latency
	return !slices.Contains(t.faulty, a.endpoint) || ended < t.timeline.Fault || a.sent >= t.timeline.Heal+rush
}

// landed counts the requests that reached the endpoint during the fault, and all.
func (t *traffic) landed(endpoint int) (there, all int) {
	for _, l := range t.during() {
		there += count(l.endpoint == endpoint)
		all++
	}
	return there, all
}

func (t *traffic) during() []landing {
	return slices.DeleteFunc(slices.Clone(t.landings), func(l landing) bool {
		return l.at < t.timeline.Fault || l.at >= t.timeline.Heal
	})
}

// untilNone looks for the first requests in a row of which none reached the endpoint.
func (t *traffic) untilNone(endpoint int) Wait {
	last, others := t.timeline.Fault, 0
	for _, l := range t.during() {
		if l.endpoint == endpoint {
			last, others = l.at, 0
			continue
		}
		others++
		if others == t.windows.none {
			return Wait{After: last - t.timeline.Fault}
		}
	}
	return Wait{Never: true}
}

// fullShare is the latest that an endpoint waits.
func (t *traffic) fullShare() Wait {
	var longest Wait
	for endpoint := range endpointCount {
		wait := t.fullShareOf(endpoint)
		if wait.Never {
			return wait
		}
		longest.After = max(longest.After, wait.After)
	}
	return longest
}

// fullShareOf looks for the first requests in a row after the healing of which at least a
// quarter reach the endpoint, whose fair share is a third.
func (t *traffic) fullShareOf(endpoint int) Wait {
	after := slices.DeleteFunc(slices.Clone(t.landings), func(l landing) bool { return l.at < t.timeline.Heal })
	there, size := 0, t.windows.away
	for i, l := range after {
		there += count(l.endpoint == endpoint)
		if i >= size {
			there -= count(after[i-size].endpoint == endpoint)
		}
		if i < size-1 || 4*there < size {
			continue
		}
		window := after[i+1-size : i+1]
		first := slices.IndexFunc(window, func(l landing) bool { return l.endpoint == endpoint })
		return Wait{After: window[first].at - t.timeline.Heal}
	}
	return Wait{Never: true}
}

// kept is a third of the requests in the long stretches without one to the endpoint, as far as
// it was healthy then.
func (t *traffic) kept(endpoint int) int {
	missed, stretch, healthy := 0, 0, 0
	flush := func() {
		if stretch >= t.windows.away {
			missed += healthy
		}
		stretch, healthy = 0, 0
	}
	for _, l := range t.landings {
		if l.endpoint == endpoint {
			flush()
			continue
		}
		stretch++
		healthy += count(t.healthy(endpoint, l.at))
	}
	flush()
	return (missed + endpointCount/2) / endpointCount
}

// since are the requests that were sent from that moment on.
func (t *traffic) since(moment time.Duration) []answer {
	return slices.DeleteFunc(slices.Clone(t.answers), func(a answer) bool { return a.sent < moment })
}

// quantile is the smallest wait that at least the fraction q of all do not exceed. Who got
// no whole answer waited for ever.
func quantile(answers []answer, q float64) Wait {
	var latencies []time.Duration
	for _, a := range answers {
		if !a.failed {
			latencies = append(latencies, a.latency)
		}
	}
	if len(answers) == 0 {
		return Wait{None: true}
	}
	slices.Sort(latencies)
	rank := max(int(math.Ceil(q*float64(len(answers)))), 1)
	if rank > len(latencies) {
		return Wait{Never: true}
	}
	return Wait{After: latencies[rank-1]}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
