package demo

import (
	"encoding/json"
	"fmt"
	"time"
)

// confirmCount is the plugin's default: so many counted samples make a block.
const confirmCount = 2

// The limits of a scale: at less than one time would run slower than in production,
// at more than fifty the scheduling of a busy machine looks like a slow endpoint.
const (
	minScale = 1
	maxScale = 50
)

// Plan is when what happens, and how the plugin is configured: the deployed figures
// (70 s, 5 s, 45 s) divided by the scale.
type Plan struct {
	Scale float64 // how many times faster than real time

	SlowThreshold time.Duration
	DedupWindow   time.Duration
	ConfirmWindow time.Duration
	BlockTTL      time.Duration
	CheckInterval time.Duration // not below 100ms, the plugin's limit

	Healthy     time.Duration // before the fault
	HealAfter   time.Duration // from the block to the heal; shorter than BlockTTL
	Afterwards  time.Duration // from the end of the block to the end of the load
	SlowAnswer  time.Duration // what an answer of the slow endpoint takes
	BlockWithin time.Duration // from the first request that gets stuck; half as much again as it should take
	GiveUpAfter time.Duration // from the fault without a block

	FirstToken time.Duration // of a healthy endpoint
	PerToken   time.Duration
}

// NewPlan scales the deployed figures. The scale is from 1 to 50.
func NewPlan(scale float64) (Plan, error) {
	if !(scale >= minScale && scale <= maxScale) {
		return Plan{}, fmt.Errorf("scale: %g given, it goes from %d (real time) to %d (times faster)", scale, minScale, maxScale)
	}
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / scale) }
	p := Plan{
		Scale:         scale,
		SlowThreshold: scaled(70 * time.Second),
		DedupWindow:   scaled(5 * time.Second),
		ConfirmWindow: scaled(5 * time.Minute),
		BlockTTL:      scaled(45 * time.Second),
		CheckInterval: max(scaled(500*time.Millisecond), 100*time.Millisecond),
		Healthy:       scaled(50 * time.Second),
		HealAfter:     scaled(30 * time.Second),
		Afterwards:    scaled(50 * time.Second),
		SlowAnswer:    scaled(95 * time.Second),
		FirstToken:    scaled(800 * time.Millisecond),
		PerToken:      scaled(25 * time.Millisecond),
	}
	p.BlockWithin = p.blockExpected() * 3 / 2
	p.GiveUpAfter = p.blockExpected() * 2
	return p, nil
}

// Configuration is the plugin's, as the gateway's control plane would push it.
func (p Plan) Configuration() string {
	configuration, err := json.Marshal(map[string]any{
		"slow_threshold": p.SlowThreshold.String(),
		"dedup_window":   p.DedupWindow.String(),
		"confirm_count":  confirmCount,
		"confirm_window": p.ConfirmWindow.String(),
		"block_ttl":      p.BlockTTL.String(),
		"check_interval": p.CheckInterval.String(),
	})
	if err != nil { // strings and a number
		panic(err)
	}
	return string(configuration)
}

// Duration is about how long the load lasts.
func (p Plan) Duration() time.Duration {
	return p.Healthy + p.SlowThreshold + p.DedupWindow + p.BlockTTL + p.Afterwards
}

// About is Duration in words, for people who are about to wait.
func (p Plan) About() string { return fmt.Sprintf("about %.0f s", p.Duration().Seconds()) }

// blockExpected is how long after the first request that gets stuck the block should come.
func (p Plan) blockExpected() time.Duration {
	return p.SlowThreshold + (confirmCount-1)*p.DedupWindow + confirmCount*p.CheckInterval
}

// recent is how far back rates and latencies look while the story is played.
func (p Plan) recent() time.Duration {
	return min(max(p.Duration()/15, time.Second), 10*time.Second)
}

// clientTimeout is so far above a slow answer that nobody ever runs into it.
func (p Plan) clientTimeout() time.Duration { return time.Minute + 10*p.SlowAnswer }
