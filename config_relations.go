package main

import (
	"fmt"
	"slices"
	"time"
)

// configRelation is a condition on values that depend on each other.
type configRelation struct {
	keys    []string // the first is the one to complain about
	warning bool     // the configuration is accepted nevertheless
	check   func(*ruleDraft) *wrongValue
}

func configRelations() []configRelation {
	return []configRelation{
		{keys: []string{"confirm_window", "dedup_window", "confirm_count"}, check: confirmationsFit},
		{keys: []string{"confirm_window", "slow_threshold", "confirm_count"}, check: loneClientConfirms, warning: true},
		{keys: []string{"block_ttl_max", "block_ttl"}, check: blockTTLGrows},
		{keys: []string{"count_aborts_after", "slow_threshold", "first_chunk_threshold", "measure"}, check: abortsComeBeforeTheThreshold},
	}
}

// verdict returns what is wrong, nil if nothing is or a value is missing.
func (r configRelation) verdict(d *ruleDraft) *wrongValue {
	if slices.ContainsFunc(r.keys, func(key string) bool { return d.refused[key] }) {
		return nil
	}
	return r.check(d)
}

// confirmationsFit: with a shorter window the first counted sample is always forgotten before the last one may count.
func confirmationsFit(d *ruleDraft) *wrongValue {
	least := d.dedupWindow * time.Duration(d.confirmCount-1)
	if d.confirmWindow >= least {
		return nil
	}
	return &wrongValue{
		given: quoteDuration(d.confirmWindow),
		want: fmt.Sprintf("at least %s (dedup_window %s x (confirm_count %d - 1))",
			quoteDuration(least), quoteDuration(d.dedupWindow), d.confirmCount),
	}
}

// loneClientConfirms: a client that sends one request at a time makes one sample per threshold.
func loneClientConfirms(d *ruleDraft) *wrongValue {
	least := d.slowThreshold * time.Duration(d.confirmCount)
	if d.confirmWindow >= least {
		return nil
	}
	return &wrongValue{
		given: quoteDuration(d.confirmWindow),
		want: fmt.Sprintf("at least %s (slow_threshold %s x confirm_count %d): a lone client could never confirm",
			quoteDuration(least), quoteDuration(d.slowThreshold), d.confirmCount),
	}
}

// blockTTLGrows: the TTL grows from block_ttl on.
func blockTTLGrows(d *ruleDraft) *wrongValue {
	if d.blockTTLMax == 0 || d.blockTTLMax >= d.blockTTL {
		return nil
	}
	return &wrongValue{given: quoteDuration(d.blockTTLMax), want: "at least " + quoteDuration(d.blockTTL) + " (block_ttl)"}
}

// abortsComeBeforeTheThreshold: a client that has waited for the threshold counts anyway.
func abortsComeBeforeTheThreshold(d *ruleDraft) *wrongValue {
	r := d.effective()
	if r.countAbortsAfter < r.patience() {
		return nil
	}
	return &wrongValue{
		given: quoteDuration(r.countAbortsAfter),
		want:  "below " + quoteDuration(r.patience()) + " (slow_threshold, or first_chunk_threshold where that may count)",
	}
}
