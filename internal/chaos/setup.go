package chaos

import (
	"encoding/json"
	"fmt"
	"time"
)

// setup is what one run is drawn to be.
type setup struct {
	hosts, workers int
	rate           float64 // requests in a second

	threshold, firstChunk time.Duration // the plugin's
	stall                 time.Duration // 0 = off
	abortsAfter           time.Duration // 0 = off
	configuration         string

	old bool // the gateway does not tell how long the last attempt took
}

func (r random) setup() setup {
	s := setup{
		hosts: 3 + r.IntN(3), workers: 2 + r.IntN(3),
		threshold: oneOf(r, 5*time.Second, 20*time.Second, 70*time.Second),
	}
	s.firstChunk = s.threshold
	if r.chance(0.4) {
		s.firstChunk = oneOf(r, s.threshold/2, 2*s.threshold)
	}
	s.rate = oneOf(r, 50.0, 150, 300) / s.longest().Seconds()
	if r.chance(0.3) {
		s.stall = s.shortest()
	}
	if r.chance(0.2) {
		s.abortsAfter = s.shortest() * 6 / 10
	}
	s.old = r.chance(0.1)
	s.configuration = r.configure(s)
	return s
}

// configure draws the plugin's configuration. Where the first sample blocks, a mistake shows at
// once; where blocks are only observed, or short, the slow host keeps its share of the requests.
func (r random) configure(s setup) string {
	keys := map[string]any{
		"mode":                     oneOf(r, "enforce", "observe"),
		"slow_threshold":           s.threshold.String(),
		"first_chunk_threshold":    s.firstChunk.String(),
		"measure":                  oneOf(r, "auto", "auto", "auto", "headers", "first_chunk"),
		"check_interval":           oneOf(r, "500ms", "500ms", "100ms", "0s"),
		"confirm_count":            oneOf(r, 1, 1, 1, 2, 3),
		"dedup_window":             oneOf(r, "0s", "5s"),
		"block_ttl":                oneOf(r, "100ms", "1s", "10s"),
		"block_ttl_max":            oneOf(r, "10s", "30s"),
		"block_ttl_jitter_percent": oneOf(r, 0, 20),
		"return":                   oneOf(r, "full", "probation"),
		"evidence":                 oneOf(r, "worker", "shared"),
		"override":                 oneOf(r, "when_blocked", "when_blocked", "always"),
		"pick":                     oneOf(r, "round_robin", "random", "least_request"),
		"count_timeouts":           r.chance(0.75),
	}
	if s.stall > 0 {
		keys["stall_threshold"] = s.stall.String()
	}
	if s.abortsAfter > 0 {
		keys["count_aborts_after"] = s.abortsAfter.String()
	}
	if r.chance(0.3) {
		keys["min_slow_percent"], keys["min_slow_requests"] = 10, 5
	}
	text, err := json.Marshal(keys)
	if err != nil {
		panic(err) // texts, numbers and booleans always marshal
	}
	return string(text)
}

// shortest is the threshold that is reached first, whatever the measure; longest the last one.
func (s setup) shortest() time.Duration { return min(s.threshold, s.firstChunk) }
func (s setup) longest() time.Duration  { return max(s.threshold, s.firstChunk) }

// patient is how long a healthy host takes at most.
func (s setup) patient() time.Duration {
	if s.abortsAfter > 0 {
		return s.abortsAfter * 9 / 10
	}
	return s.shortest() * 95 / 100
}

// quick is how long it takes at most for the requests of routes with short timeouts.
func (s setup) quick() time.Duration { return s.shortest() * 45 / 100 }

// short is such a timeout.
func (s setup) short() time.Duration { return s.shortest() / 2 }

func (s setup) String() string {
	return fmt.Sprintf("%d hosts, %d workers, %.1f requests/s, old gateway %t, %s", s.hosts, s.workers, s.rate, s.old, s.configuration)
}
