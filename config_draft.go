package main

import (
	"fmt"
	"hash/fnv"
	"maps"
	"time"

	"github.com/tidwall/gjson"
)

// ruleDraft is a rule while it is read. Values that default to another value of
// the same rule stay zero until nobody can name them any more.
type ruleDraft struct {
	rule
	place         keyScope // where its keys stand
	checkInterval time.Duration
	entries       []gjson.Result      // of _rules_
	matches       map[string][]string // the names that the rule matches, by key
	refused       map[string]bool     // keys whose value was wrong: what depends on them cannot be judged
}

func defaultDraft() ruleDraft {
	return ruleDraft{
		rule: rule{
			mode:                 modeEnforce,
			slowThreshold:        70 * time.Second,
			measure:              measureAuto,
			dedupWindow:          5 * time.Second,
			confirmCount:         2,
			confirmWindow:        5 * time.Minute,
			blockTTL:             45 * time.Second,
			minSlowRequests:      10,
			maxBlockedPercent:    100,
			minCandidatesPercent: 20,
			override:             overrideWhenBlocked,
			pick:                 pickRoundRobin,
			returns:              returnFull,
			evidence:             evidenceWorker,
			countTimeouts:        true,
		},
		place:         atTop,
		checkInterval: 500 * time.Millisecond,
		refused:       map[string]bool{},
	}
}

// heir returns the draft of a rule that names nothing of its own yet.
func (d *ruleDraft) heir() ruleDraft {
	heir := *d
	heir.place = inEntry
	heir.refused = maps.Clone(d.refused)
	heir.matches = map[string][]string{}
	return heir
}

// effective returns the finished rule.
func (d *ruleDraft) effective() *rule {
	r := d.rule
	if r.firstChunkThreshold == 0 {
		r.firstChunkThreshold = r.slowThreshold
	}
	if r.blockTTLMax == 0 {
		r.blockTTLMax = r.blockTTL
	}
	content := fnv.New64a()
	fmt.Fprintf(content, "%s %q", &r, d.matches)
	r.id = fmt.Sprintf("%016x", content.Sum64())
	return &r
}
