package envoytest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onBoth says how a scenario file is played on Envoy, or why it is not.
type onBoth struct {
	// scale is how many seconds of the file pass in one.
	scale int
	// differs are the expectations whose verdicts need not be the same, by what the verdict says,
	// and why.
	differs map[string]string
	// whyNot: the file makes no sense in real time.
	whyNot string
}

const (
	faults  = "it is about mistakes of the host on demand, and a real Envoy makes none"
	learned = "a stock Envoy tells no hosts: a new one is met only when Envoy itself chooses, which may then be any, and who has gone is noticed at the next request"
)

// scenarioFiles are all files in scenarios/.
func scenarioFiles() map[string]onBoth {
	return map[string]onBoth{
		"all-slow":                 {whyNot: "ten thousand requests in forty seconds of the file are more than a small machine sends at any scale that is short enough; TestLoad has as many"},
		"blocks-never-get-shorter": {scale: 10},
		"burst-hangs":              {scale: 10},
		"clock-jumps":              {whyNot: "the clock of the machine is not moved for a test"},
		"configuration-change":     {scale: 12},
		"hanging-host-defaults":    {scale: 20},
		"hiccup-30s":               {scale: 10},
		"hiccups-far-apart":        {scale: 30},
		"hosts-come-and-go": {scale: 10, differs: map[string]string{
			"requests to A from 16.5s to 1m15s: exactly 0":              learned,
			"requests to D from 20s to 30s: at least 9 and at most 11":  learned,
			"requests to B from 30s to 40s: at least 14 and at most 16": learned,
			"requests to D from 30s to 40s: at least 14 and at most 16": learned,
			"requests that wait 1s or longer from 16.5s: exactly 0":     learned,
			"metric overrides_missed: exactly 0":                        learned,
		}},
		"limits-are-reached":        {whyNot: "it is about single milliseconds, and nothing real is that exact"},
		"low-traffic":               {scale: 80},
		"observe-and-enforce":       {scale: 10},
		"one-endpoint-only":         {scale: 10},
		"one-fault-two-workers":     {whyNot: faults},
		"one-slow-host":             {scale: 20},
		"rolling-slowness":          {scale: 20},
		"slow-again-after-ttl":      {scale: 24},
		"slow-by-degrees":           {scale: 24},
		"sse-says-nothing":          {scale: 10},
		"stays-slow":                {whyNot: "what hangs for half an hour is five thousand requests at its end; slow-again-after-ttl has the same rounds"},
		"thousand-endpoints":        {whyNot: "a stock Envoy has the plugin learn its hosts, and each new one is a write of all: the worker would do nothing else"},
		"timeout-at-threshold":      {scale: 10},
		"two-routes-two-thresholds": {scale: 15},
		"two-workers-write-at-once": {whyNot: faults},
		"uneven-workers":            {scale: 15},
		"incident/as-it-was":        {scale: 60},
		"incident/too-low":          {whyNot: "an answer takes up to 12s and 11s are slow: at any scale that can be played the difference is noise"},
		"incident/with-30s":         {whyNot: "it is as-it-was with another configuration, and half an hour is long"},
		"long/hundred-hours":        {whyNot: faults},
	}
}

const scenarioFolder = "../scenarios"

// TestEveryScenarioFileIsPlayedOnBothHostsOrHasAReason keeps the table and the folder together.
func TestEveryScenarioFileIsPlayedOnBothHostsOrHasAReason(t *testing.T) {
	var names []string
	require.NoError(t, filepath.WalkDir(scenarioFolder, func(path string, _ fs.DirEntry, err error) error {
		if name, isScenario := strings.CutSuffix(path, ".yaml"); isScenario {
			names = append(names, strings.TrimPrefix(name, scenarioFolder+"/"))
		}
		return err
	}))
	var told []string
	for name, how := range scenarioFiles() {
		told = append(told, name)
		assert.NotEqual(t, how.scale > 0, how.whyNot != "", "%s: played or not?", name)
	}
	assert.ElementsMatch(t, names, told)
}
