package demo

import (
	"cmp"
	"slices"
	"time"
)

// Journey is one request to an endpoint: as its client saw it when it is over, as the
// endpoint saw it come until then.
type Journey struct {
	Began time.Duration
	Ended time.Duration // 0 = it still waits for its answer
}

// journeysOf makes one list of the requests that are over and those that have arrived
// and are not. Which arrival is whose nobody knows; the next one after a request was
// sent is taken for it, which is wrong by no more than requests overtake each other on
// their way. Both lists are sorted here.
func journeysOf(finished []Journey, arrivals []time.Duration) []Journey {
	all := slices.Clone(finished)
	slices.SortFunc(all, func(a, b Journey) int { return cmp.Compare(a.Began, b.Began) })
	next := 0
	for _, arrival := range slices.Sorted(slices.Values(arrivals)) {
		if next < len(finished) && arrival >= all[next].Began {
			next++
			continue
		}
		all = append(all, Journey{Began: arrival})
	}
	return all
}

// summarize tells of the endpoint's traffic from a moment until now. PerSecond needs at
// least minRecent to be more than chance.
func (e *EndpointState) summarize(all []Journey, from, now time.Duration) (recent int) {
	var latencies []time.Duration
	for _, j := range all {
		if j.Began > from {
			recent++
		}
		switch {
		case j.Ended == 0:
			e.Waiting++
			e.Oldest = max(e.Oldest, now-j.Began)
		case j.Ended > from:
			latencies = append(latencies, j.Ended-j.Began)
		}
	}
	e.Journeys, e.Placed = all, len(all)
	e.PerSecond = float64(recent) / max(now-from, minRecent).Seconds()
	if e.Answered = len(latencies); e.Answered > 0 {
		e.P50, e.P95 = quantile(latencies, 0.5), quantile(latencies, 0.95)
	}
	return recent
}

// Longest cuts the time from 0 to until into steps and gives for each the longest that a
// request had waited in it, whether it was answered there or not. A step without a
// request, and one that lies in the future, is 0.
func (s State) Longest(endpoint int, until time.Duration, steps int) []time.Duration {
	longest := make([]time.Duration, steps)
	length := until / time.Duration(steps)
	if length <= 0 {
		return longest
	}
	for _, j := range s.Endpoints[endpoint].Journeys {
		ended := j.Ended
		if ended == 0 {
			ended = s.At
		}
		for i := max(int(j.Began/length), 0); i < steps && time.Duration(i)*length <= ended; i++ {
			longest[i] = max(longest[i], min(ended, time.Duration(i+1)*length)-j.Began)
		}
	}
	return longest
}

// minRecent is the shortest time over which a rate says something.
const minRecent = 500 * time.Millisecond

// recentFrom is where the latest stretch of the story begins: not further back than
// Plan.recent, nor than the last change of phase, so that a change shows at once.
func recentFrom(plan Plan, events []Event, now time.Duration) time.Duration {
	from := now - plan.recent()
	for _, event := range events {
		if event.Kind != EventLog && event.At > from {
			from = min(event.At, now-minRecent)
		}
	}
	return max(from, 0)
}
