package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Report is what a run has measured.
type Report struct {
	Envoy    string // version
	Seed     uint64
	Timeline Timeline
	Cells    []Cell // by fault, and by set-up within it
}

// Cell is one set-up under one fault.
type Cell struct {
	Setup, Fault string // names
	Figures      Figures
	Shares       Shares
}

// Cell finds one by its names.
func (r *Report) Cell(setup, fault string) (Cell, bool) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Setup == setup && c.Fault == fault })
	if i < 0 {
		return Cell{}, false
	}
	return r.Cells[i], true
}

// ReadReport reads what WriteDocs has written.
func ReadReport(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var report Report
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("%s is not a report of `lab compare`: %w", path, err)
	}
	return &report, nil
}
