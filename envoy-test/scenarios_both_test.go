package envoytest

import (
	"bytes"
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/plugintest"
	"endpoint-breaker/internal/sim"
	"endpoint-breaker/internal/simenvoy"
)

// How many scenarios are played at a time, and how many Envoys start. None starts while others
// play: that would keep the machine busy.
const (
	playedAtATime  = 7
	startedAtATime = 2
)

// scenarioOnBoth is a scenario on its way through both hosts.
type scenarioOnBoth struct {
	onBoth
	*sim.Scenario
	workers int

	player          *simenvoy.Player
	virtual, really *sim.Result
	err             error
}

// takes is how long it takes to play it on Envoy.
func (s *scenarioOnBoth) takes() time.Duration {
	return time.Duration(s.Duration) / time.Duration(s.scale)
}

// scenariosOnBoth are all that are played, the longest first.
func scenariosOnBoth(t *testing.T) []*scenarioOnBoth {
	t.Helper()
	var all []*scenarioOnBoth
	for name, how := range scenarioFiles() {
		if how.scale == 0 {
			continue
		}
		scenario, err := sim.Load(filepath.Join(scenarioFolder, name+".yaml"))
		require.NoError(t, err)
		// Of several numbers of workers the largest: an Envoy takes seconds to start.
		all = append(all, &scenarioOnBoth{onBoth: how, Scenario: scenario, workers: slices.Max(scenario.Workers)})
	}
	slices.SortFunc(all, func(a, b *scenarioOnBoth) int {
		return cmp.Or(cmp.Compare(b.takes(), a.takes()), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// TestBothHostsJudgeTheScenariosAlike plays the files on the embedded host in virtual time and on
// a real Envoy, and compares the verdicts one by one. What they disagree on is a bug of one of
// them. How a run is judged whose moments are not exact is in internal/sim/tolerance.go.
func TestBothHostsJudgeTheScenariosAlike(t *testing.T) {
	plugintest.EnvoyBinary(t)
	embedded, stock := plugintest.Wasm(t), plugintest.EnvoyPath(t)
	all := scenariosOnBoth(t)
	for _, s := range all {
		var err error
		s.virtual, err = sim.Run(t.Context(), s.Scenario, sim.Options{Wasm: embedded, Workers: s.workers, Seed: s.Seed})
		require.NoError(t, err)
	}
	for todo, tries := all, 3; len(todo) > 0 && tries > 0; todo, tries = notTold(all), tries-1 {
		for batch := range slices.Chunk(todo, playedAtATime) {
			playOnEnvoy(t, stock, batch)
		}
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			require.NoError(t, s.err)
			s.compare(t)
		})
	}
}

// playOnEnvoy plays scenarios, all at the same time.
func playOnEnvoy(t *testing.T, wasm string, batch []*scenarioOnBoth) {
	t.Helper()
	began := time.Now()
	forEach(batch, startedAtATime, func(s *scenarioOnBoth) {
		s.player, s.err = simenvoy.Start(t.Context(), s.Scenario, simenvoy.Options{Wasm: wasm, Workers: s.workers, Seed: s.Seed, Scale: s.scale})
	})
	started := time.Since(began)
	forEach(batch, len(batch), func(s *scenarioOnBoth) {
		if s.err == nil {
			s.really, s.err = s.player.Run(t.Context())
		}
	})
	t.Logf("%d scenarios: %s to start, %s in all", len(batch), started.Round(time.Second), time.Since(began).Round(time.Second))
}

// forEach does something with all scenarios, with so many at a time.
func forEach(batch []*scenarioOnBoth, atATime int, do func(*scenarioOnBoth)) {
	var all errgroup.Group
	all.SetLimit(atATime)
	for _, s := range batch {
		all.Go(func() error {
			do(s)
			return nil
		})
	}
	_ = all.Wait() // each keeps its own error
}

// notTold are the scenarios for which the machine was too busy to tell.
func notTold(all []*scenarioOnBoth) []*scenarioOnBoth {
	var again []*scenarioOnBoth
	for _, s := range all {
		if errors.As(s.err, new(*simenvoy.BusyError)) {
			again = append(again, s)
		}
	}
	return again
}

// compare compares the verdicts one by one.
func (s *scenarioOnBoth) compare(t *testing.T) {
	t.Helper()
	virtual, really := s.virtual.Verdicts(), s.really.Verdicts()
	require.Len(t, really, len(virtual))
	excuses := 0
	for i := range virtual {
		why, excused := s.differs[virtual[i].What]
		switch {
		case excused:
			excuses++
			t.Logf("in virtual time: %s\non Envoy: %s\nwhich may differ, for %s", virtual[i], really[i], why)
		case !really[i].Unseen:
			assert.Equal(t, virtual[i].OK, really[i].OK, "in virtual time: %s\non Envoy: %s", virtual[i], really[i])
		}
	}
	assert.Len(t, s.differs, excuses, "an excuse is for nothing that the file expects")
	if t.Failed() {
		var report bytes.Buffer
		require.NoError(t, s.really.Write(&report, s.takes()))
		t.Log(report.String())
	}
}
