package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// page is what the templates of both languages are filled with. Its texts are in the page's
// language.
type page struct {
	Envoy    string
	Scale    int
	Seed     uint64
	Takes    string
	Timeline Timeline
	Rate     int
	PerBlock int        // requests that an endpoint misses during a block
	Many     windowPart // clients
	One      windowPart // client
	Columns  []string
	Setups   []setupPart
	Standing []standingPart
	Faults   []faultPart
	Slowest  string // answer of a healthy endpoint, in all cells
	Requests int    // in all cells
	Refused  int
}

// windowPart is how many requests in a row decide.
type windowPart struct{ None, Away int }

func newWindowPart(fault Fault) windowPart {
	w := fault.windows()
	return windowPart{w.none, w.away}
}

type setupPart struct{ Name, Description string }

// standingPart is a row of the overview: the breaker against one set-up.
type standingPart struct {
	Setup string
	Words []string // by fault
}

type faultPart struct {
	Name, Title, Description, Keys, Picture string
	Rows                                    []rowPart
	Behind                                  []behindPart
}

type rowPart struct {
	Setup   string
	Figures []string // and the verdict
}

// behindPart is a reason, and where it is one.
type behindPart struct{ Where, Why string }

func (r *Report) page(l Language) page {
	p := page{
		Envoy: r.Envoy, Scale: Scale, Seed: r.Seed, Timeline: r.Timeline, Rate: rate, PerBlock: keptPerBlock,
		Takes: fmt.Sprintf("%.0f", Options{Setups: Setups(), Faults: Faults(), Timeline: r.Timeline, AtOnce: len(Setups())}.Takes().Minutes()),
		Many:  newWindowPart(Fault{}), One: newWindowPart(Fault{OneByOne: true}),
	}
	for _, column := range Columns() {
		p.Columns = append(p.Columns, l(column.title()))
	}
	for _, setup := range Setups() {
		p.Setups = append(p.Setups, setupPart{setup.Name, l(setup.Description)})
		if setup.Name != Breaker {
			p.Standing = append(p.Standing, r.standingAgainst(l, setup))
		}
	}
	var slowest time.Duration
	for _, fault := range Faults() {
		p.Faults = append(p.Faults, r.faultPart(l, fault))
		for _, cell := range r.of(fault) {
			slowest = max(slowest, cell.Figures.SlowestHealthy)
			p.Requests += cell.Figures.Sent
			p.Refused += cell.Figures.Refused
		}
	}
	p.Slowest = l.wait(Wait{After: slowest}, Words{})
	return p
}

func (r *Report) standingAgainst(l Language, setup Setup) standingPart {
	part := standingPart{Setup: setup.Name}
	for _, fault := range Faults() {
		cell, played := r.Cell(setup.Name, fault.Name)
		verdict, judged := r.verdict(cell)
		switch {
		case !played || !judged:
			part.Words = append(part.Words, "–")
		default:
			part.Words = append(part.Words, l(verdict.Word.words()))
		}
	}
	return part
}

func (r *Report) faultPart(l Language, fault Fault) faultPart {
	part := faultPart{
		Name: fault.Name, Title: l(fault.Title), Description: l(fault.Description), Keys: fault.keys(),
		Picture: pictureName(fault), Behind: r.behind(l, fault),
	}
	for _, cell := range r.of(fault) {
		part.Rows = append(part.Rows, rowPart{cell.Setup, r.row(l, cell)})
	}
	return part
}

// behind gathers where the breaker is behind by the reason for it.
func (r *Report) behind(l Language, fault Fault) []behindPart {
	var parts []behindPart
	for _, cell := range r.of(fault) {
		verdict, _ := r.verdict(cell)
		columns := map[string][]Column{}
		for _, column := range verdict.Behind {
			why, known := reasonFor(fault.Name, cell.Setup, column)
			if !known {
				why = Words{"not explained yet.", "尚未解释。"}
			}
			columns[l(why)] = append(columns[l(why)], column)
		}
		for why, columns := range columns {
			parts = add(parts, "`"+cell.Setup+"`"+l(Words{" (", "（"})+l.columns(columns)+l(Words{")", "）"}), why, l)
		}
	}
	slices.SortFunc(parts, func(a, b behindPart) int { return strings.Compare(a.Where, b.Where) })
	return parts
}

func add(parts []behindPart, where, why string, l Language) []behindPart {
	for i := range parts {
		if parts[i].Why == why {
			parts[i].Where += l(Words{", ", "、"}) + where
			return parts
		}
	}
	return append(parts, behindPart{where, why})
}
