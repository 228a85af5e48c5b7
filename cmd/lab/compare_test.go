package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/compare"
)

func TestCompareRefusesWhatItCannotPlay(t *testing.T) {
	for message, args := range map[string][]string{
		`set-up: "magic" given, there are nothing`:      {"--setup", "nothing,magic"},
		`fault: "rain" given, there are slow`:           {"--fault", "rain"},
		`fault: "stall" given, there are slow, hanging`: {"--quick", "--fault", "stall"},
		"at-once: 0 given, it goes from 1 to 16":        {"--at-once", "0"},
		"none of the others can be":                     {"--from", "x.json", "--quick"},
	} {
		t.Run(message, func(t *testing.T) {
			_, err := runLab(t, append([]string{"compare"}, args...)...)
			require.ErrorContains(t, err, message)
			assert.Equal(t, misused, exitCode(err))
		})
	}
}

// figuresFile is a run of two cells, in which the breaker does what the changed figure says.
func figuresFile(t *testing.T, change func(*compare.Figures)) string {
	t.Helper()
	breaker := compare.Figures{Landed: 300, DuringFault: 1500, Requests: 2000}
	change(&breaker)
	report := compare.Report{Timeline: compare.FullTimeline(), Cells: []compare.Cell{
		{Setup: compare.Nothing, Fault: "slow", Figures: compare.Figures{Landed: 500, DuringFault: 1500, Requests: 2000}},
		{Setup: compare.Breaker, Fault: "slow", Figures: breaker},
	}}
	folder := t.TempDir()
	require.NoError(t, report.WriteDocs(folder))
	return filepath.Join(folder, "comparison.json")
}

func TestCompareShowsTheFiguresOfAnEarlierRun(t *testing.T) {
	out := t.TempDir()
	printed, err := runLab(t, "compare", "--from", figuresFile(t, func(*compare.Figures) {}), "--out", out)
	require.NoError(t, err)
	assert.Contains(t, printed, "slow: One endpoint is slow")
	assert.Regexp(t, `nothing +500 / 1500 .*ahead \(better: landed\)`, printed)
	assert.Contains(t, printed, "are in "+out)
	page, err := os.ReadFile(filepath.Join(out, "comparison.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "| `breaker` | 300 / 1500 |")
}

func TestCompareFailsWhenAClaimDoesNotHold(t *testing.T) {
	printed, err := runLab(t, "compare", "--from", figuresFile(t, func(f *compare.Figures) { f.Refused = 1 }))
	require.EqualError(t, err, "claims that do not hold: 1, see the lines with ✗")
	assert.Equal(t, failed, exitCode(err))
	assert.Contains(t, printed, "✗ breaker under slow: 1 × 503")
}

func TestCompareWithoutThePluginSaysHowToBuildIt(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.wasm")
	_, err := runLab(t, "compare", "--wasm", missing)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "make ", "make build, or make envoy where that is missing, too")
}

func TestProgressIsOneLineThatChangesOnATerminalAndLinesElsewhere(t *testing.T) {
	story := []compare.Progress{
		{Round: 1, Rounds: 2, Doing: "starting 2 × Envoy"},
		{Round: 1, Rounds: 2, Doing: "the fault", At: 6e9, End: 50e9},
		{Round: 1, Rounds: 2, Doing: "the fault", At: 7e9, End: 50e9},
		{Round: 1, Rounds: 2, Finished: &compare.Cell{Setup: "nothing", Fault: "slow"}},
	}
	tell := func(live bool) string {
		var out bytes.Buffer
		p := &progressPrinter{out: &out, live: live}
		for _, progress := range story {
			p.print(progress)
		}
		return out.String()
	}
	line := (compare.Cell{Setup: "nothing", Fault: "slow"}).Line() + "\n"
	assert.Equal(t, "round 1 of 2: starting 2 × Envoy\nround 1 of 2: the fault\n"+line, tell(false))
	const again = "\r\x1b[K"
	assert.Equal(t, again+"round 1 of 2: starting 2 × Envoy"+again+"round 1 of 2: the fault, 6 s of 50 s"+
		again+"round 1 of 2: the fault, 7 s of 50 s"+again+line, tell(true))
}

func TestTheHelpOfCompareNamesEverySetupAndFault(t *testing.T) {
	out, err := runLab(t, "compare", "--help")
	require.NoError(t, err)
	for _, name := range append(names(compare.Setups(), setupName), names(compare.Faults(), faultName)...) {
		assert.Contains(t, out, name)
	}
	assert.Contains(t, out, "about 43 s, what CI runs")
}
