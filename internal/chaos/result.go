package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Block is one that the plugin has written.
type Block struct {
	At       time.Duration // since the run began
	Endpoint string
	Reason   string
	// Suspects are the requests that can have led to a block that should not be.
	Suspects []string
}

// Result is what came of a run.
type Result struct {
	Seed   uint64
	Setup  string // what was drawn, for people
	Slow   string // the host that is truly slow; "" = none
	Blocks []Block

	Counters map[string]int64 // the plugin's metrics, by the last part of their names
	Played   map[string]int   // how often situations came up that a breaker may get wrong

	Length time.Duration // of virtual time

	streams int
	blocked map[string]int // for how many seconds, by endpoint
}

// Mistakes tells what the plugin has done wrong, one line each.
func (r Result) Mistakes() []string {
	mistakes := r.wrongBlocks()
	for _, counter := range []string{"panics", "host_call_errors", "shared_data_damaged", "cas_give_ups"} {
		if n := r.Counters[counter]; n > 0 {
			mistakes = append(mistakes, fmt.Sprintf("%s: %d", counter, n))
		}
	}
	samples := int64(0)
	for _, counter := range []string{"samples", "samples_deduplicated", "samples_stale"} {
		samples += r.Counters[counter]
	}
	if r.Slow == "" && samples > 0 {
		mistakes = append(mistakes, fmt.Sprintf("%d samples, and no host is slow", samples))
	}
	if all := samples + r.Counters["samples_unattributed"]; all > int64(r.streams) {
		mistakes = append(mistakes, fmt.Sprintf("%d samples of %d streams: one each at most", all, r.streams))
	}
	if r.Slow != "" && len(r.Blocks) == 0 {
		mistakes = append(mistakes, fmt.Sprintf("%s is truly slow, and was never blocked in %s", r.Slow, r.Length))
	}
	return mistakes
}

func (r Result) wrongBlocks() []string {
	var wrong []string
	for _, b := range r.Blocks {
		if b.Endpoint != r.Slow {
			wrong = append(wrong, fmt.Sprintf("%s was blocked at %s, reason %s; suspects:\n    %s",
				b.Endpoint, b.At, b.Reason, strings.Join(b.Suspects, "\n    ")))
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(r.blocked)) {
		if endpoint != r.Slow {
			wrong = append(wrong, fmt.Sprintf("%s stood in the blocklist for %d s", endpoint, r.blocked[endpoint]))
		}
	}
	return wrong
}
