package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
)

// host is one address of a cluster at the time of a request. healthy tells whether it may be
// chosen at all, blocks apart.
type host struct {
	address string
	healthy bool
}

// choice is what a request should do about its upstream.
type choice struct {
	address string   // the host to override to; empty = leave it to Envoy's balancing
	probe   entryKey // the block that this is a probe for; zero = it is none
	bypass  bool     // every host, or too many, are blocked: Envoy balances over all
	capped  bool     // max_blocked_percent let a blocked host back in
}

// selector chooses hosts for the requests of one worker. It is used inside one host callback
// at a time.
type selector struct {
	random *rand.Rand
	last   map[rotation]string  // round robin: the address chosen last
	placed map[placement]uint32 // least request: requests in flight that this worker placed

	probation *probation

	// Kept between requests for their memory only.
	candidates []string
	blocked    []entry
}

// rotation is one round robin: neither observing nor enforcing moves the other's.
type rotation struct {
	cluster  string
	observed bool
}

type placement struct{ cluster, address string }

func newSelector(random *rand.Rand) *selector {
	return &selector{random: random, last: map[rotation]string{}, placed: map[placement]uint32{}, probation: newProbation()}
}

// mayConcern reports whether the blocklist has anything that a request of the rule could meet,
// whatever its cluster is. For most requests it has not.
func (s *selector) mayConcern(r *rule, list *blocklist, now instant) bool {
	return r.override == overrideAlways || list.blocksAny(r.observes(), now) ||
		r.probes() && len(list.entries) > 0
}

// concerns is mayConcern for a request of the cluster.
func (s *selector) concerns(r *rule, cluster string, list *blocklist, now instant) bool {
	return r.override == overrideAlways || slices.ContainsFunc(list.entries, func(e entry) bool {
		return e.Cluster == cluster && e.Observed == r.observes() && s.keepsOut(r, e, now)
	})
}

// keepsOut reports whether the entry keeps ordinary requests away from its endpoint: it is a
// block, or the endpoint is on probation after one.
func (s *selector) keepsOut(r *rule, e entry, now instant) bool {
	return e.blocks(now) || r.probes() && s.probation.holds(e, now)
}

// choose applies docs/design.md, Behavior 4, to one request: drop the unhealthy, drop the blocked,
// probe one whose block is over, step aside when too few are left, else pick.
func (s *selector) choose(r *rule, cluster string, hosts []host, list *blocklist, now instant) choice {
	s.sort(r, cluster, hosts, list, now)
	if len(hosts) == 0 || len(s.blocked) == 0 && r.override == overrideWhenBlocked {
		return choice{}
	}
	if e, found := s.due(now); found {
		return choice{address: e.Endpoint, probe: e.key()}
	}
	capped := s.letIn(max(1, len(hosts)*r.maxBlockedPercent/100))
	if len(s.candidates) == 0 || len(s.candidates)*100 < r.minCandidatesPercent*len(hosts) {
		return choice{bypass: true, capped: capped}
	}
	return choice{address: s.pick(r, cluster), capped: capped}
}

// sort divides the healthy hosts into candidates and blocked ones.
func (s *selector) sort(r *rule, cluster string, hosts []host, list *blocklist, now instant) {
	s.candidates, s.blocked = s.candidates[:0], s.blocked[:0]
	for _, h := range hosts {
		if !h.healthy {
			continue
		}
		if e, known := list.find(cluster, h.address, r.observes()); known && s.keepsOut(r, e, now) {
			s.blocked = append(s.blocked, e)
		} else {
			s.candidates = append(s.candidates, h.address)
		}
	}
}

// due returns an endpoint whose block is over, which therefore is on probation, and that no probe
// of this worker is on its way to.
func (s *selector) due(now instant) (entry, bool) {
	i := slices.IndexFunc(s.blocked, func(e entry) bool { return !e.blocks(now) && !s.probation.probing[e.key()] })
	if i < 0 {
		return entry{}, false
	}
	return s.blocked[i], true
}

// letIn makes candidates of the blocked hosts beyond the limit, those that were blocked first.
func (s *selector) letIn(limit int) (capped bool) {
	if len(s.blocked) <= limit {
		return false
	}
	slices.SortStableFunc(s.blocked, func(a, b entry) int { return cmp.Compare(b.Since, a.Since) })
	for _, e := range s.blocked[limit:] {
		s.candidates = append(s.candidates, e.Endpoint)
	}
	return true
}

// pick returns one of the candidates, of which there is at least one.
func (s *selector) pick(r *rule, cluster string) string {
	switch r.pick {
	case pickRandom:
		return s.anyCandidate()
	case pickLeastRequest:
		return s.leastRequest(cluster)
	default:
		return s.roundRobin(rotation{cluster, r.observes()})
	}
}

func (s *selector) anyCandidate() string { return s.candidates[s.random.IntN(len(s.candidates))] }

// roundRobin goes through the addresses in their order, so that its place holds when the list
// changes. Each worker begins somewhere else: in step, they would all meet on one host.
func (s *selector) roundRobin(of rotation) string {
	last, begun := s.last[of]
	if !begun {
		last = s.anyCandidate()
	}
	first, after := "", ""
	for _, address := range s.candidates {
		if first == "" || address < first {
			first = address
		}
		if address > last && (after == "" || address < after) {
			after = address
		}
	}
	if after == "" {
		after = first
	}
	s.last[of] = strings.Clone(after) // see place
	return after
}

// leastRequest takes the better of two random candidates.
func (s *selector) leastRequest(cluster string) string {
	a, b := s.anyCandidate(), s.anyCandidate()
	if s.placed[placement{cluster, b}] < s.placed[placement{cluster, a}] {
		return b
	}
	return a
}

// place notes that a request was sent to the address by our override; the caller hands the
// result to release when it has ended.
func (s *selector) place(cluster, address string) placement {
	// The host list may share one large buffer, which a kept address would keep alive.
	at := placement{cluster, strings.Clone(address)}
	s.placed[at]++
	return at
}

// release notes that a placed request has ended; the zero placement is none.
func (s *selector) release(at placement) {
	switch n := s.placed[at]; {
	case n > 1:
		s.placed[at] = n - 1
	case n == 1:
		delete(s.placed, at)
	}
}
