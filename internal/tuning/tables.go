package tuning

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Language is that of a page.
type Language int

// The languages of the documents.
const (
	English Language = iota
	Chinese
)

// words picks the ones of the language.
func (l Language) words(english, chinese string) string {
	if l == Chinese {
		return chinese
	}
	return english
}

func (l Language) wait(w wait) string {
	if w == never {
		return l.words("not within an hour", "一小时内没有")
	}
	return w.String()
}

// table is a heading and rows of cells.
type table struct {
	name string // of its place in the documents
	rows [][]string
}

// tables are all of them, in the order of the documents.
func (r *Report) tables(l Language) []table {
	return []table{r.returnTable(l), r.togetherTable(l), r.evidenceTable(l), r.hiccupTable(l)}
}

func (r *Report) returnTable(l Language) table {
	t := table{name: "return", rows: [][]string{{
		l.words("configuration", "配置"), l.words("in service", "在用"),
		l.words("requests that hit it", "打到它的请求"), l.words("of its full share", "占应得份额"),
		l.words("full share again: median", "恢复份额：中位"), l.words("worst", "最差"),
		l.words("kept from it: median", "误扣请求：中位"), l.words("worst", "最差"),
	}}}
	for i, row := range r.Returns {
		name := "`" + row.Configuration + "`"
		if i == 0 {
			name += l.words(" (default)", "（默认）")
		}
		t.rows = append(t.rows, []string{
			name, percent(row.InService), fmt.Sprint(row.Hits), percent(row.HitShare),
			l.wait(row.FullShare.Median), l.wait(row.FullShare.Worst), fmt.Sprint(row.Kept.Median), fmt.Sprint(row.Kept.Worst),
		})
	}
	return t
}

func (r *Report) togetherTable(l Language) table {
	t := table{name: "together", rows: [][]string{{
		"`block_ttl_jitter_percent`", l.words("apart: median", "相隔：中位"), l.words("less than 1 s apart", "相隔不足 1 s"),
	}}}
	for i, row := range r.Togethers {
		name := "`0`" + l.words(" (default)", "（默认）")
		if i > 0 {
			_, value, _ := strings.Cut(row.Configuration, ": ")
			name = "`" + value + "`"
		}
		t.rows = append(t.rows, []string{
			name, fmt.Sprintf("%.1f s", row.Apart[len(row.Apart)/2].Seconds()), l.of(row.closeTogether(), len(row.Apart)),
		})
	}
	return t
}

// closeTogether counts the returns with hardly a moment between them.
func (t Together) closeTogether() int {
	n := 0
	for _, apart := range t.Apart {
		if apart < time.Second {
			n++
		}
	}
	return n
}

func (r *Report) evidenceTable(l Language) table {
	worker, shared := "`evidence: worker`"+l.words(": median", "：中位"), "`evidence: shared`"+l.words(": median", "：中位")
	t := table{name: "evidence", rows: [][]string{{
		l.words("workers", "worker 数"), l.words("requests per second", "每秒请求数"),
		worker, l.words("worst", "最差"), shared, l.words("worst", "最差"),
	}}}
	for _, row := range r.Evidences {
		t.rows = append(t.rows, []string{
			fmt.Sprint(row.Workers), fmt.Sprintf("%g", row.Rate),
			l.wait(row.Worker.Median), l.wait(row.Worker.Worst), l.wait(row.Shared.Median), l.wait(row.Shared.Worst),
		})
	}
	return t
}

func (r *Report) hiccupTable(l Language) table {
	t := table{name: "hiccups", rows: [][]string{{
		l.words("workers", "worker 数"), "`evidence`",
		l.words("one burst: slow requests", "一次突发：慢请求"), l.words("samples that count", "计入的样本"), l.words("blocked", "被屏蔽"),
		l.words("two hiccups: blocked", "两次抖动：被屏蔽"),
	}}}
	for _, row := range r.Hiccups {
		for i, alarms := range []FalseAlarms{row.Worker, row.Shared} {
			t.rows = append(t.rows, []string{
				fmt.Sprint(row.Workers), []string{"`worker`", "`shared`"}[i],
				fmt.Sprint(alarms.Slow.Median), fmt.Sprint(alarms.Samples.Median), l.of(alarms.BlockedByOne, alarms.Runs),
				l.of(alarms.BlockedByTwo, alarms.RunsWithTwo),
			})
		}
	}
	return t
}

func (l Language) of(n, all int) string {
	if l == Chinese {
		return fmt.Sprintf("%d / %d", n, all)
	}
	return fmt.Sprintf("%d of %d", n, all)
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

// markdown is the table as it stands in a page.
func (t table) markdown() string {
	var b strings.Builder
	for i, row := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

// WriteTables writes the tables for a terminal.
func (r *Report) WriteTables(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range r.tables(English) {
		fmt.Fprintf(aligned, "%s\n", t.name)
		for _, row := range t.rows {
			fmt.Fprintln(aligned, "  "+strings.ReplaceAll(strings.Join(row, "\t"), "`", ""))
		}
		fmt.Fprintln(aligned)
	}
	return aligned.Flush()
}
