package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// played is a run in which all is as the project claims.
func played() *Report {
	nothing := Figures{Landed: 500, DuringFault: 1500, UntilNone: Wait{Never: true}}
	breaker := Figures{Landed: 300, DuringFault: 1500, UntilNone: Wait{After: 4 * time.Second}, Kept: [3]int{0, 20, 0}}
	return &Report{Cells: []Cell{
		{Setup: Nothing, Fault: "slow", Figures: nothing},
		{Setup: Breaker, Fault: "slow", Figures: breaker},
		{Setup: Breaker, Fault: "long-prompts", Figures: Figures{Kept: [3]int{90, 90, 90}}},
	}}
}

func TestARunThatBearsOutTheClaimsBreaksNone(t *testing.T) {
	assert.Empty(t, played().Broken())
}

func TestWhatContradictsAClaimIsNamed(t *testing.T) {
	for want, change := range map[string]func(r *Report){
		"nothing under slow: 2 requests failed before the fault":                       func(r *Report) { r.Cells[0].Figures.FailedBefore = 2 },
		"nothing under slow: an answer of a healthy endpoint took 1.751s, above 1.75s": func(r *Report) { r.Cells[0].Figures.SlowestHealthy = 1751 * time.Millisecond },
		"breaker under long-prompts: 1 × 503":                                          func(r *Report) { r.Cells[2].Figures.Refused = 1 },
		"breaker under slow: the endpoint got requests all the time, 300 of 1500":      func(r *Report) { r.Cells[1].Figures.UntilNone = Wait{Never: true} },
		"the endpoint's share did not come back":                                       func(r *Report) { r.Cells[1].Figures.FullShare = Wait{Never: true} },
		"breaker under slow: gpu-c, healthy all the time, missed 9 requests":           func(r *Report) { r.Cells[1].Figures.Kept[2] = 9 },
		"it is not ahead of doing nothing, but equal": func(r *Report) {
			r.Cells[0].Figures = r.Cells[1].Figures
		},
	} {
		report := played()
		change(report)
		broken := report.Broken()
		if assert.Len(t, broken, 1, want) {
			assert.Contains(t, broken[0], want)
		}
	}
}

func TestOthersMayAnswer503(t *testing.T) {
	report := played()
	report.Cells[0].Figures.Refused = 3
	assert.Empty(t, report.Broken())
}
