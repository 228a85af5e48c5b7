package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTheVerdictIsAboutWhatClientsFeelAndThenAboutTheCosts(t *testing.T) {
	after := func(d time.Duration) Wait { return Wait{After: d} }
	breaker := Figures{
		Landed: 300, DuringFault: 1500, UntilNone: after(4 * time.Second), P50: after(70 * time.Millisecond),
		P99: after(5 * time.Second), Failed: 50, FullShare: after(time.Second), Kept: [3]int{0, 50, 0},
	}
	for name, c := range map[string]struct {
		change func(*Figures)
		want   Verdict
	}{
		"the same":          {func(*Figures) {}, Verdict{Word: Equal}},
		"within the floors": {func(f *Figures) { f.Landed, f.Failed, f.P50.After = 321, 54, 119*time.Millisecond }, Verdict{Word: Equal}},
		"within a block":    {func(f *Figures) { f.FullShare.After, f.Kept[1] = 3*time.Second, 14 }, Verdict{Word: Equal}},
		"within a tenth": {func(f *Figures) {
			f.Landed, f.UntilNone.After, f.P99.After = 332, 4300*time.Millisecond, 5400*time.Millisecond
		}, Verdict{Word: Equal}},
		"more landed":        {func(f *Figures) { f.Landed = 340 }, Verdict{Word: Ahead, Ahead: []Column{ColumnLanded}}},
		"fewer landed":       {func(f *Figures) { f.Landed = 260 }, Verdict{Word: Behind, Behind: []Column{ColumnLanded}}},
		"more of fewer":      {func(f *Figures) { f.Landed, f.DuringFault = 200, 500 }, Verdict{Word: Ahead, Ahead: []Column{ColumnLanded}}},
		"it never ended":     {func(f *Figures) { f.UntilNone = Wait{Never: true} }, Verdict{Word: Ahead, Ahead: []Column{ColumnUntilNone}}},
		"nothing to end":     {func(f *Figures) { f.UntilNone = Wait{None: true} }, Verdict{Word: Equal}},
		"no answers":         {func(f *Figures) { f.P99 = Wait{Never: true} }, Verdict{Word: Ahead, Ahead: []Column{ColumnP99}}},
		"faster, but failed": {func(f *Figures) { f.P50.After, f.Failed = 10*time.Millisecond, 400 }, Verdict{Word: Mixed, Ahead: []Column{ColumnFailed}, Behind: []Column{ColumnP50}}},
		"cheaper":            {func(f *Figures) { f.Kept = [3]int{} }, Verdict{Word: Behind, Behind: []Column{ColumnKept}}},
		"dearer":             {func(f *Figures) { f.FullShare.After = 4 * time.Second }, Verdict{Word: Ahead, Ahead: []Column{ColumnFullShare}}},
		"cheaper, but felt":  {func(f *Figures) { f.Kept, f.Failed = [3]int{}, 60 }, Verdict{Word: Ahead, Ahead: []Column{ColumnFailed}, Behind: []Column{ColumnKept}}},
	} {
		other := breaker
		c.change(&other)
		assert.Equal(t, c.want, Judge(breaker, other), name)
	}
}

func TestWhatNeverComesIsLaterThanAllThatDoes(t *testing.T) {
	soon, late := Wait{After: time.Second}, Wait{After: 10 * time.Second}
	never, none := Wait{Never: true}, Wait{None: true}
	for _, c := range []struct {
		breaker, other Wait
		want           int
	}{
		{soon, late, 1},
		{late, soon, -1},
		{soon, soon, 0},
		{late, never, 1},
		{never, late, -1},
		{never, never, 0},
		{none, soon, 0},
		{soon, none, 0},
		{never, none, 0},
	} {
		assert.Equal(t, c.want, earlier(c.breaker, c.other, 0), "%+v against %+v", c.breaker, c.other)
	}
}
