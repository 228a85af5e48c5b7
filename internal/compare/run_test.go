package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"endpoint-breaker/internal/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// moment is a run as short as one can be.
func moment(setups []Setup, faults ...Fault) Options {
	return Options{
		Setups: setups, Faults: faults, AtOnce: 4, Seed: 1, Watch: func(Progress) {},
		Timeline: Timeline{Fault: 300 * time.Millisecond, Heal: 900 * time.Millisecond, End: 1200 * time.Millisecond},
	}
}

func TestEnvoyTakesEverySetup(t *testing.T) {
	plugintest.EnvoyBinary(t)
	for _, setup := range Setups() {
		t.Run(setup.Name, func(t *testing.T) {
			o := Options{Seed: 1}
			if setup.Ours {
				o.Wasm = plugintest.EnvoyPath(t)
			}
			s := &stage{setup: setup, fault: faultNamed(t, "slow")}
			require.NoError(t, s.start(t.Context(), o))
			require.NoError(t, s.close())
		})
	}
}

func TestEveryRequestIsSeenByItsClientAndByOneEndpoint(t *testing.T) {
	plugintest.EnvoyBinary(t)
	for _, fault := range []string{"hanging", "one-by-one"} {
		s := &stage{setup: Setups()[0], fault: faultNamed(t, fault)}
		o := moment(nil)
		require.NoError(t, s.start(t.Context(), o))
		traffic, err := s.play(t.Context(), o)
		require.NoError(t, err)
		require.NoError(t, s.close())

		assert.Len(t, traffic.landings, len(traffic.answers), fault)
		reached := map[int]int{}
		for _, l := range traffic.landings {
			reached[l.endpoint]++
		}
		for _, a := range traffic.answers {
			assert.False(t, a.failed, "%s: %+v", fault, a)
			reached[a.endpoint]--
		}
		assert.Equal(t, map[int]int{0: 0, 1: 0, 2: 0}, reached, fault)
	}
}

func TestARunPlaysEachSetupUnderEachFaultAndTellsOfIt(t *testing.T) {
	plugintest.EnvoyBinary(t)
	setups, err := ChooseSetups(Setups(), []string{Nothing, "least-request"})
	require.NoError(t, err)
	o := moment(setups, faultNamed(t, "stall"), faultNamed(t, "all-slow"), faultNamed(t, "long-prompts"))
	var told []string
	rounds := map[int]bool{}
	o.Watch = func(p Progress) {
		rounds[p.Round] = true
		assert.Equal(t, 2, p.Rounds)
		if p.Finished != nil {
			told = append(told, p.Finished.String())
		}
	}
	report, err := Run(t.Context(), o)
	require.NoError(t, err)

	want := []string{
		"nothing under stall", "least-request under stall", "nothing under all-slow", "least-request under all-slow",
		"nothing under long-prompts", "least-request under long-prompts",
	}
	assert.Equal(t, want, told)
	assert.Len(t, rounds, 2, "four cells at once, and then the last two")
	require.Len(t, report.Cells, len(want))
	for i, cell := range report.Cells {
		assert.Equal(t, want[i], cell.String())
		assert.Equal(t, report.Cells[0].Figures.Sent, cell.Figures.Sent, "the same requests for all")
		assert.Positive(t, cell.Figures.Sent)
	}
}

func TestASetupThatEnvoyRefusesEndsTheRunAndNamesItself(t *testing.T) {
	plugintest.EnvoyBinary(t)
	broken := Setup{Name: "broken", configure: func(c *gatewayConfig, _ Fault) { c.cluster.ConnectTimeout.Seconds = -1 }}
	_, err := Run(t.Context(), moment([]Setup{Setups()[0], broken}, faultNamed(t, "slow")))
	require.ErrorContains(t, err, "set-up broken, fault slow: Envoy refused the configuration")
}
