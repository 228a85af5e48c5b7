package main

import "time"

// ttl returns how long the block lasts that is an endpoint's so many-th in a row
// (docs/design.md, Behavior 3). random, from 0 up to 1, spreads it by the jitter: what was
// blocked together does not return together. The jitter only ever shortens, so that limits hold.
func (r *rule) ttl(strikes int, random float64) time.Duration {
	ttl := r.blockTTL
	for i := 1; i < strikes && ttl < r.blockTTLMax; i++ {
		ttl *= 2
	}
	ttl = min(ttl, r.blockTTLMax)
	return ttl - time.Duration(random*float64(ttl)*float64(r.blockTTLJitterPercent)/100)
}

// ttlLimits are the longest blocks that the configurations of a VM give, by the name of the plugin:
// a later configuration of the same name takes the place of an earlier one, which may have streams
// to finish, and must not block for longer than its successor would. One of another name, in
// another listener, has a limit of its own.
type ttlLimits map[string]*time.Duration

// set notes the limit of the newest configuration of that name.
func (l ttlLimits) set(name string, longest time.Duration) {
	if l[name] == nil {
		l[name] = new(time.Duration)
	}
	*l[name] = longest
}

// of returns the limit of the name, which is there, and follows what is set later.
func (l ttlLimits) of(name string) *time.Duration { return l[name] }

// longest returns the longest block that any of them gives.
func (l ttlLimits) longest() time.Duration {
	var longest time.Duration
	for _, limit := range l {
		longest = max(longest, *limit)
	}
	return longest
}
