package main

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Keys of the gateway.
const (
	rulesKey    = "_rules_"
	pluginIDKey = "_plugin_id_"

	matchRouteKey   = "_match_route_"
	matchDomainKey  = "_match_domain_"
	matchServiceKey = "_match_service_"
	matchPrefixKey  = "_match_route_prefix_"
)

// minSlowRequestsKey is the key that has no effect alone.
const minSlowRequestsKey = "min_slow_requests"

// keyScope says where a key may stand.
type keyScope uint8

const (
	anywhere keyScope = iota
	atTop             // not in an entry of _rules_
	inEntry           // only in an entry of _rules_
)

// keySetter stores a key's value in a draft, or says what is wrong with it.
type keySetter func(gjson.Result) *wrongValue

// configKey is one key of the configuration.
type configKey struct {
	name  string
	scope keyScope
	set   keySetter
}

// keyTable is all keys, bound to the draft that they fill.
type keyTable []configKey

// keys returns the keys. Their defaults are in defaultDraft.
func (d *ruleDraft) keys() keyTable {
	return keyTable{
		{"mode", anywhere, d.modeValue},
		{"slow_threshold", anywhere, durationValue(&d.slowThreshold, positive(time.Hour))},
		{"first_chunk_threshold", anywhere, durationValue(&d.firstChunkThreshold, positive(time.Hour))},
		{"measure", anywhere, enumValue(&d.measure)},
		{"dedup_window", anywhere, durationValue(&d.dedupWindow, durationSpan{most: 10 * time.Minute})},
		{"confirm_count", anywhere, integerValue(&d.confirmCount, 1, maxConfirmCount)},
		{"confirm_window", anywhere, durationValue(&d.confirmWindow, positive(10*time.Minute))},
		{"block_ttl", anywhere, durationValue(&d.blockTTL, positive(time.Hour))},
		{"block_ttl_max", anywhere, durationValue(&d.blockTTLMax, positive(time.Hour))},
		{"block_ttl_jitter_percent", anywhere, integerValue(&d.blockTTLJitterPercent, 0, 50)},
		{"min_slow_percent", anywhere, integerValue(&d.minSlowPercent, 0, 100)},
		{minSlowRequestsKey, anywhere, integerValue(&d.minSlowRequests, 1, 10_000)},
		{"max_blocked_percent", anywhere, integerValue(&d.maxBlockedPercent, 1, 100)},
		{"min_candidates_percent", anywhere, integerValue(&d.minCandidatesPercent, 0, 100)},
		{"override", anywhere, enumValue(&d.override)},
		{"pick", anywhere, enumValue(&d.pick)},
		{"return", anywhere, enumValue(&d.returns)},
		{"evidence", anywhere, enumValue(&d.evidence)},
		{"count_timeouts", anywhere, booleanValue(&d.countTimeouts)},
		{"count_aborts_after", anywhere, durationValue(&d.countAbortsAfter, positive(time.Hour))},
		{"stall_threshold", anywhere, durationValue(&d.stallThreshold, durationSpan{most: time.Hour})},
		{"check_interval", atTop, durationValue(&d.checkInterval, durationSpan{least: 100 * time.Millisecond, most: time.Minute, orZero: true})},

		{pluginIDKey, anywhere, ignoredKey},
		{rulesKey, atTop, d.ruleEntries},
		{matchRouteKey, inEntry, d.matchNames(matchRouteKey)},
		{matchDomainKey, inEntry, d.matchNames(matchDomainKey)},
		{matchServiceKey, inEntry, d.matchNames(matchServiceKey)},
		{matchPrefixKey, inEntry, d.matchNames(matchPrefixKey)},
	}
}

func (t keyTable) find(name string) (configKey, bool) {
	i := slices.IndexFunc(t, func(k configKey) bool { return k.name == name })
	if i < 0 {
		return configKey{}, false
	}
	return t[i], true
}

// names returns the keys of one kind that may stand here.
func (t keyTable) names(here keyScope, kind func(name string) bool) []string {
	var names []string
	for _, key := range t {
		if kind(key.name) && (key.scope == anywhere || key.scope == here) {
			names = append(names, key.name)
		}
	}
	return names
}

// isGatewayKey: names that begin with an underscore belong to the gateway.
func isGatewayKey(name string) bool { return strings.HasPrefix(name, "_") }
func isOwnKey(name string) bool     { return !isGatewayKey(name) }
func isMatchKey(name string) bool   { return strings.HasPrefix(name, "_match_") }
