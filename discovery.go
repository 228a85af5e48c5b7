//go:build envoy

package main

import "time"

// While something is blocked, requests go to hosts that are known, so that a new one would
// never answer and never be known. As long as fewer are known than the cluster has, Envoy
// chooses now and then (docs/design.md, "Two builds").

const (
	firstDiscovery   = 200 * time.Millisecond // after it turned out that a host is unknown
	slowestDiscovery = 10 * time.Second       // while nothing new turns up, the pauses double up to this
	// recountAfter is how old the number of a cluster's hosts may get before an answer is asked
	// for it again.
	recountAfter = time.Second
	// forgetCensusAfter is when a cluster that nobody asks about makes room.
	forgetCensusAfter = 10 * time.Minute
)

// census is what one worker knows of one cluster's size.
type census struct {
	endpoints int     // as Envoy told last; 0 = not yet
	countedAt instant // when it did
	usedAt    instant

	known int           // hosts, when it was last looked at
	pause time.Duration // before the next discovery
	next  instant       // the next discovery; unknown = none is due
}

// discovers reports whether Envoy should choose for this request. known is how many hosts are
// known.
func (c *census) discovers(known int, now instant) bool {
	switch {
	case known >= c.endpoints:
		c.next = unknown
		return false
	case c.next == unknown || known > c.known:
		c.known, c.pause, c.next = known, firstDiscovery, now.add(firstDiscovery)
		return false
	}
	c.known = known
	if now < c.next {
		return false
	}
	c.pause = min(2*c.pause, slowestDiscovery)
	c.next = now.add(c.pause)
	return true
}

// unmet returns how many hosts there must be beside the known ones. Once nobody has turned up for
// long they are taken for hosts that nobody can choose: Envoy counts backups of other priorities,
// and one address as often as it is listed.
func (c *census) unmet(known int) int {
	if c.pause == slowestDiscovery {
		return 0
	}
	return max(0, c.endpoints-known)
}

// censuses are those of all clusters that a worker has met lately.
type censuses struct {
	of     map[string]*census
	pruned instant
}

func newCensuses() *censuses { return &censuses{of: map[string]*census{}} }

func (c *censuses) cluster(name string, now instant) *census {
	found := c.of[name]
	if found == nil {
		c.prune(now)
		found = &census{}
		c.of[name] = found
	}
	found.usedAt = now
	return found
}

// prune forgets clusters that have not been asked about for long.
func (c *censuses) prune(now instant) {
	if now.since(c.pruned) < forgetCensusAfter {
		return
	}
	c.pruned = now
	for name, census := range c.of {
		if now.since(census.usedAt) >= forgetCensusAfter {
			delete(c.of, name)
		}
	}
}
