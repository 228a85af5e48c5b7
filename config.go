package main

import (
	"fmt"
	"time"
)

// mode says how far the breaker goes.
type mode uint8

const (
	modeEnforce mode = iota // block, and keep requests away from what is blocked
	modeObserve             // block, but steer nothing
	modeOff                 // leave the requests alone
)

// measure says which part of an answer ends a request's duration.
type measure uint8

const (
	measureAuto       measure = iota // by content type
	measureHeaders                   // the response headers
	measureFirstChunk                // the first non-empty body chunk
)

// overrideWhen says on which requests the breaker chooses the host.
type overrideWhen uint8

const (
	overrideWhenBlocked overrideWhen = iota // while an endpoint of the cluster is blocked
	overrideAlways                          // on every request
)

// pickPolicy says how a host is chosen among the candidates.
type pickPolicy uint8

const (
	pickRoundRobin pickPolicy = iota
	pickRandom
	pickLeastRequest
)

// returnPolicy says how an endpoint comes back when its block is over.
type returnPolicy uint8

const (
	returnFull      returnPolicy = iota // as a host like any other
	returnProbation                     // with one request at a time, until one was answered in time
)

// evidencePolicy says where counted samples are counted.
type evidencePolicy uint8

const (
	evidenceWorker evidencePolicy = iota // in each worker alone
	evidenceShared                       // in SharedData, for all workers together
)

// The spellings in the configuration, in the order of the constants.
func (mode) names() []string         { return []string{"enforce", "observe", "off"} }
func (measure) names() []string      { return []string{"auto", "headers", "first_chunk"} }
func (overrideWhen) names() []string { return []string{"when_blocked", "always"} }
func (pickPolicy) names() []string   { return []string{"round_robin", "random", "least_request"} }
func (returnPolicy) names() []string { return []string{"full", "probation"} }

func (evidencePolicy) names() []string { return []string{"worker", "shared"} }

func (m mode) String() string         { return m.names()[m] }
func (m measure) String() string      { return m.names()[m] }
func (o overrideWhen) String() string { return o.names()[o] }
func (p pickPolicy) String() string   { return p.names()[p] }
func (r returnPolicy) String() string { return r.names()[r] }

func (e evidencePolicy) String() string { return e.names()[e] }

// rule is the effective configuration of the requests that one entry of
// _rules_, or the global part, matches. Its address is the rule's identity; it
// is never changed after parsing.
type rule struct {
	id                    string // of what it says and whom it matches: the same in every worker and every configuration
	mode                  mode
	slowThreshold         time.Duration
	firstChunkThreshold   time.Duration
	measure               measure
	stallThreshold        time.Duration // 0 = a response under way may pause
	countTimeouts         bool
	countAbortsAfter      time.Duration // 0 = a client that leaves early says nothing
	dedupWindow           time.Duration
	confirmCount          int
	confirmWindow         time.Duration
	minSlowPercent        int // 0 = the share of slow requests does not matter
	minSlowRequests       int
	evidence              evidencePolicy
	blockTTL              time.Duration
	blockTTLMax           time.Duration
	blockTTLJitterPercent int
	returns               returnPolicy
	maxBlockedPercent     int
	minCandidatesPercent  int
	override              overrideWhen
	pick                  pickPolicy
}

// patience is the threshold while nothing has come back. `auto` cannot know yet which of the
// two will count, and waits for the longer one.
func (r *rule) patience() time.Duration {
	switch r.measure {
	case measureHeaders:
		return r.slowThreshold
	case measureFirstChunk:
		return r.firstChunkThreshold
	default:
		return max(r.slowThreshold, r.firstChunkThreshold)
	}
}

// settings is one parsed plugin configuration.
type settings struct {
	global        *rule         // nil: requests that match no rule are left alone
	rules         []*rule       // in the order of _rules_
	checkInterval time.Duration // 0 = no look at streams in flight
	warnings      []string      // one line each; the configuration is in force nevertheless
}

// longestThreshold returns the largest slow or first-chunk threshold of all rules.
func (s *settings) longestThreshold() time.Duration {
	return s.longest(func(r *rule) time.Duration { return max(r.slowThreshold, r.firstChunkThreshold) })
}

// longestBlockTTL returns the longest block that any rule gives.
func (s *settings) longestBlockTTL() time.Duration {
	return s.longest(func(r *rule) time.Duration { return r.blockTTLMax })
}

func (s *settings) longest(of func(*rule) time.Duration) time.Duration {
	var longest time.Duration
	if s.global != nil {
		longest = of(s.global)
	}
	for _, r := range s.rules {
		longest = max(longest, of(r))
	}
	return longest
}

// String shows what is in force on one line, the global part in full.
func (s *settings) String() string {
	text := fmt.Sprintf("rules=%d check_interval=%s", len(s.rules), shortDuration(s.checkInterval))
	if s.global == nil {
		return text + " other requests are left alone"
	}
	return text + " " + s.global.String()
}

// String shows the rule as the keys that make it, without those that are off.
func (r *rule) String() string {
	text := fmt.Sprintf("mode=%s slow_threshold=%s first_chunk_threshold=%s measure=%s dedup_window=%s "+
		"confirm_count=%d confirm_window=%s block_ttl=%s block_ttl_max=%s max_blocked_percent=%d min_candidates_percent=%d "+
		"override=%s pick=%s return=%s evidence=%s count_timeouts=%t",
		r.mode, shortDuration(r.slowThreshold), shortDuration(r.firstChunkThreshold), r.measure, shortDuration(r.dedupWindow),
		r.confirmCount, shortDuration(r.confirmWindow), shortDuration(r.blockTTL), shortDuration(r.blockTTLMax),
		r.maxBlockedPercent, r.minCandidatesPercent, r.override, r.pick, r.returns, r.evidence, r.countTimeouts)
	if r.stallThreshold > 0 {
		text += " stall_threshold=" + shortDuration(r.stallThreshold)
	}
	if r.countAbortsAfter > 0 {
		text += " count_aborts_after=" + shortDuration(r.countAbortsAfter)
	}
	if r.minSlowPercent > 0 {
		text += fmt.Sprintf(" min_slow_percent=%d min_slow_requests=%d", r.minSlowPercent, r.minSlowRequests)
	}
	if r.blockTTLJitterPercent > 0 {
		text += fmt.Sprintf(" block_ttl_jitter_percent=%d", r.blockTTLJitterPercent)
	}
	return text
}

// parseSettings reads the plugin configuration: the JSON object that the gateway
// makes of a WasmPlugin resource, with the overrides under _rules_. Empty bytes
// and null mean all defaults. The error lists everything that is wrong on one
// line: the global part first, then the rules in their order.
func parseSettings(configuration []byte) (*settings, error) {
	root, err := parseRoot(configuration)
	if err != nil {
		return nil, err
	}

	var p configParser
	top := defaultDraft()
	p.object("", root, &top)
	defaults := defaultDraft()
	p.relations("", &top, &defaults)

	s := &settings{checkInterval: top.checkInterval}
	if len(top.entries) == 0 || hasGlobalPart(root) {
		s.global = top.effective()
	}
	for i, entry := range top.entries {
		s.rules = append(s.rules, p.entry(fmt.Sprintf("_rules_[%d]", i), entry, &top))
	}
	p.minSlowRequests("", root, append(s.rules, top.effective())...)
	if p.problems.found() {
		return nil, &p.problems
	}
	s.warnings = p.warnings
	return s, nil
}
