package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Requests expects a number of requests that arrive in the window.
type Requests struct {
	Traffic string `json:"traffic"` // by default all
	Outcome string `json:"outcome"` // by default any: answered, timed out, client left, refused, no healthy host, unfinished
	Window
	Bounds
}

func (e *Requests) validate(s *Scenario) error {
	var traffic, outcome error
	if e.Traffic != "" {
		traffic = at("traffic", s.knowsTraffic(e.Traffic))
	}
	if e.Outcome != "" {
		outcome = at("outcome", oneOf(e.Outcome, string(Answered), string(TimedOut), string(Left), string(Refused), string(NoHost), "unfinished"))
	}
	return firstOf(traffic, outcome, e.Window.validate(s.Duration), e.Bounds.validate())
}

func (e *Requests) check(r *Result) Verdict {
	t := r.tallyRequests(func(m margin) func(*Request) bool {
		if e.Outcome == "" {
			m = r.none() // when they arrive is the file's own doing
		}
		within := e.within(m)
		return func(q *Request) bool {
			return within.holds(q.Arrived) && ofTraffic(q, e.Traffic) && (e.Outcome == "" || orElse(q.Outcome, "unfinished") == Outcome(e.Outcome))
		}
	})
	return e.verdict(t, describe(orElse(e.Outcome, "arriving")+" requests", e.Traffic, e.Window))
}

// RequestsTo expects how many requests, or which share of the cluster's, go to
// an endpoint in the window.
type RequestsTo struct {
	Endpoint string `json:"endpoint"`
	Traffic  string `json:"traffic"` // by default all
	Window
	Bounds
	ShareAtLeast *Percent `json:"share_at_least"`
	ShareAtMost  *Percent `json:"share_at_most"`
}

func (e *RequestsTo) validate(s *Scenario) error {
	var traffic, bounds error
	if e.Traffic != "" {
		traffic = at("traffic", s.knowsTraffic(e.Traffic))
	}
	byShare := e.ShareAtLeast != nil || e.ShareAtMost != nil
	switch {
	case byShare && e.Bounds.given():
		bounds = errors.New("there should be a number or a share, not both")
	case !byShare:
		bounds = e.Bounds.validate()
	}
	return firstOf(at("endpoint", s.knowsEndpoints(e.Endpoint)), traffic, e.Window.validate(s.Duration), bounds)
}

func (e *RequestsTo) check(r *Result) Verdict {
	cluster := r.Scenario.clusterOf(e.Endpoint)
	its := r.tallyRequests(func(m margin) func(*Request) bool {
		within := e.within(m)
		return func(q *Request) bool {
			return q.Endpoint == e.Endpoint && within.holds(q.Chosen) && ofTraffic(q, e.Traffic)
		}
	})
	if e.Bounds.given() {
		return e.verdict(its, describe("requests to "+e.Endpoint, e.Traffic, e.Window))
	}
	others := r.tallyRequests(func(m margin) func(*Request) bool {
		within := e.within(m)
		return func(q *Request) bool {
			return q.Cluster == cluster && q.Endpoint != e.Endpoint && within.holds(q.Chosen) && ofTraffic(q, e.Traffic)
		}
	})
	return e.shareVerdict(its, others)
}

func (e *RequestsTo) shareVerdict(its, others tally) Verdict {
	var limits []string
	least, share, most := its.share(others)
	all := its.seen + others.seen
	ok, exact := all > 0, all > 0
	if e.ShareAtLeast != nil {
		limits = append(limits, "at least "+e.ShareAtLeast.String())
		ok, exact = ok && most >= *e.ShareAtLeast, exact && share >= *e.ShareAtLeast
	}
	if e.ShareAtMost != nil {
		limits = append(limits, "at most "+e.ShareAtMost.String())
		ok, exact = ok && least <= *e.ShareAtMost, exact && share <= *e.ShareAtMost
	}
	seen := fmt.Sprintf("%s (%d of %d)", share, its.seen, all)
	if !exact && least != most {
		seen += fmt.Sprintf(", %s to %s by the tolerance", least, most)
	}
	return Verdict{OK: ok, What: describe("share of "+e.Endpoint, e.Traffic, e.Window) + ": " + strings.Join(limits, " and "), Seen: seen}
}

// Refusals expects how many requests the plugin keeps from every endpoint: those
// that it answers itself and those that it holds back for ever.
type Refusals struct {
	Window
	Bounds
}

func (e *Refusals) validate(s *Scenario) error {
	return firstOf(e.Window.validate(s.Duration), e.Bounds.validate())
}

func (e *Refusals) check(r *Result) Verdict {
	window := e.within(r.none())
	refused := r.count(func(q *Request) bool { return window.holds(q.Arrived) && q.Outcome == Refused })
	held := r.count(func(q *Request) bool { return window.holds(q.Arrived) && q.Held() })
	verdict := e.verdict(exactly(refused+held), describe("requests refused or held by the plugin", "", e.Window))
	if held > 0 {
		verdict.Seen = fmt.Sprintf("%d refused, %d held", refused, held)
	}
	return verdict
}

// ClientErrors expects how many requests that arrive in the window get a status
// of 500 or more, from whomever.
type ClientErrors struct {
	Window
	Bounds
}

func (e *ClientErrors) validate(s *Scenario) error {
	return firstOf(e.Window.validate(s.Duration), e.Bounds.validate())
}

func (e *ClientErrors) check(r *Result) Verdict {
	window := e.within(r.none())
	n := r.count(func(q *Request) bool { return window.holds(q.Arrived) && q.Status >= 500 })
	return e.verdict(exactly(n), describe("answers with status 5xx", "", e.Window))
}

// SlowRequests expects how many requests that arrive in the window wait at least
// that long for the first byte of the answer, or have waited that long when they
// end or the run does.
type SlowRequests struct {
	LongerThan Duration `json:"longer_than"`
	Traffic    string   `json:"traffic"` // by default all
	Window
	Bounds
}

func (e *SlowRequests) validate(s *Scenario) error {
	var traffic, threshold error
	if e.Traffic != "" {
		traffic = at("traffic", s.knowsTraffic(e.Traffic))
	}
	if e.LongerThan == 0 {
		threshold = at("longer_than", errors.New("is missing"))
	}
	if e.LongerThan > s.Duration {
		threshold = at("longer_than", fmt.Errorf("given %s; the run ends at %s", e.LongerThan, s.Duration))
	}
	return firstOf(threshold, traffic, e.Window.validate(s.Duration), e.Bounds.validate())
}

func (e *SlowRequests) check(r *Result) Verdict {
	t := r.tallyRequests(func(m margin) func(*Request) bool {
		within, wait := e.within(m), time.Duration(e.LongerThan)+m.ofDurations()
		return func(q *Request) bool {
			return within.holds(q.Arrived) && ofTraffic(q, e.Traffic) && q.Waited(r.end()) >= wait
		}
	})
	return e.verdict(t, describe(fmt.Sprintf("requests that wait %s or longer", e.LongerThan), e.Traffic, e.Window))
}

func (r *Result) count(is func(*Request) bool) int64 {
	n := int64(0)
	for _, request := range r.Requests {
		if is(request) {
			n++
		}
	}
	return n
}

func ofTraffic(q *Request, name string) bool { return name == "" || q.Traffic.Name == name }

func describe(things, traffic string, w Window) string {
	if traffic != "" {
		things += " of " + traffic
	}
	return things + w.String()
}
