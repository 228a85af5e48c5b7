package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTables prints one table for each fault that was played.
func (r *Report) WriteTables(w io.Writer) error {
	for _, fault := range Faults() {
		cells := r.of(fault)
		if len(cells) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s: %s\n", fault.Name, fault.Title.English)
		if keys := fault.keys(); keys != "" {
			fmt.Fprintf(w, "the breaker also has %s\n", keys)
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "set-up")
		for _, column := range Columns() {
			fmt.Fprintf(table, "\t%s", column)
		}
		fmt.Fprintln(table, "\tthe breaker is")
		for _, cell := range cells {
			fmt.Fprint(table, cell.Setup)
			for _, text := range r.row(English, cell) {
				fmt.Fprintf(table, "\t%s", text)
			}
			fmt.Fprintln(table)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

// of are the cells of a fault.
func (r *Report) of(fault Fault) []Cell {
	return slices.DeleteFunc(slices.Clone(r.Cells), func(c Cell) bool { return c.Fault != fault.Name })
}

// row is a cell's line of a table: the figures, and how the breaker stands against them.
func (r *Report) row(l Language, cell Cell) []string {
	var row []string
	for _, column := range Columns() {
		row = append(row, l.text(column, cell.Figures))
	}
	verdict, judged := r.verdict(cell)
	if !judged {
		return append(row, "")
	}
	return append(row, l.verdict(verdict))
}

// verdict is how the breaker stands against a cell of another set-up.
func (r *Report) verdict(cell Cell) (Verdict, bool) {
	breaker, played := r.Cell(Breaker, cell.Fault)
	if !played || cell.Setup == Breaker {
		return Verdict{}, false
	}
	return Judge(breaker.Figures, cell.Figures), true
}

// Line is a cell in one line.
func (c Cell) Line() string {
	var texts []string
	for _, column := range Columns() {
		texts = append(texts, fmt.Sprintf("%s %s", column, Language(English).text(column, c.Figures)))
	}
	return fmt.Sprintf("%-13s %-16s %s", c.Fault, c.Setup, strings.Join(texts, ", "))
}
