package main

import (
	"cmp"
	"slices"
)

// mostEvidence bounds the evidence in SharedData; what was added to longest ago makes room.
const mostEvidence = 1000

// sharedEvidence is what all workers together have counted against one endpoint under one rule
// (`evidence: shared`). Its samples have passed the window of the worker that took them, and that
// of all workers, too: a burst that hits every one of them is one sample.
type sharedEvidence struct {
	Cluster  string         `json:"cluster"`
	Endpoint string         `json:"endpoint"`
	Rule     string         `json:"rule"` // rule.id
	Last     instant        `json:"last"` // the latest sample that counted
	Counted  []sharedSample `json:"counted"`
}

type sharedSample struct {
	Started instant `json:"started"`
	Reached instant `json:"reached"`
}

// valid reports whether evidence like this can have been written by now.
func (e sharedEvidence) valid(now instant) bool {
	if e.Cluster == "" || e.Endpoint == "" || e.Rule == "" || len(e.Counted) > maxConfirmCount {
		return false
	}
	for _, s := range e.Counted {
		if s.Started <= unknown || s.Started > s.Reached || s.Reached > e.Last {
			return false
		}
	}
	return e.Last > unknown && e.Last <= now.add(readerLag)
}

func (e sharedEvidence) about(cluster, endpoint, rule string) bool {
	return e.Cluster == cluster && e.Endpoint == endpoint && e.Rule == rule
}

// evidenceOf returns a copy of what all workers have counted.
func (l *blocklist) evidenceOf(cluster, endpoint, rule string) *evidence {
	shared := &evidence{}
	i := slices.IndexFunc(l.evidence, func(e sharedEvidence) bool { return e.about(cluster, endpoint, rule) })
	if i < 0 {
		return shared
	}
	shared.lastCounted = l.evidence[i].Last
	for _, s := range l.evidence[i].Counted {
		shared.counted = append(shared.counted, sample{started: s.Started, reached: s.Reached})
	}
	return shared
}

// recentEvidence returns a copy of the evidence, without what nothing was added to for so long
// that no rule still counts it.
func (l *blocklist) recentEvidence(now instant) []sharedEvidence {
	var recent []sharedEvidence
	for _, e := range l.evidence {
		if now.since(e.Last) <= forgetUnseen {
			recent = append(recent, e)
		}
	}
	return recent
}

// withEvidence returns the list with that evidence in the place of the old.
func (l *blocklist) withEvidence(cluster, endpoint, rule string, counted *evidence, now instant) *blocklist {
	next := slices.DeleteFunc(l.recentEvidence(now), func(e sharedEvidence) bool { return e.about(cluster, endpoint, rule) })
	if surplus := len(next) + 1 - mostEvidence; surplus > 0 {
		slices.SortStableFunc(next, func(a, b sharedEvidence) int { return cmp.Compare(b.Last, a.Last) })
		next = next[:len(next)-surplus]
	}
	shared := sharedEvidence{Cluster: cluster, Endpoint: endpoint, Rule: rule, Last: counted.lastCounted, Counted: []sharedSample{}}
	for _, s := range counted.counted {
		shared.Counted = append(shared.Counted, sharedSample{Started: s.started, Reached: s.reached})
	}
	return newBlocklist(l.entries, append(next, shared))
}
