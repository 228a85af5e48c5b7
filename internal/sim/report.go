package sim

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tidwall/gjson"
)

// Rows that a table shows at most: a scenario may have a thousand endpoints.
const rowsShown = 20

// Title names the run: the scenario, and the number of workers where it is
// played with several.
func (r *Result) Title() string {
	if len(r.Scenario.Workers) == 1 {
		return r.Scenario.Name
	}
	return fmt.Sprintf("%s, workers: %d", r.Scenario.Name, r.Workers)
}

// Passed reports whether every expectation held.
func (r *Result) Passed() bool {
	return !slices.ContainsFunc(r.Verdicts(), func(v Verdict) bool { return !v.OK })
}

// Write prints the run for people: blocks, requests by endpoint, expectations
// and the verdict. took is how long it took to play it.
func (r *Result) Write(w io.Writer, took time.Duration) error {
	p := &printer{to: w}
	p.line("%s", r.Title())
	p.warnings(r.warnings())
	p.table(r.blockRows())
	p.table(r.endpointRows())
	held, judged := 0, 0
	p.line("")
	for _, v := range r.Verdicts() {
		if !v.Unseen {
			judged++
		}
		if v.OK && !v.Unseen {
			held++
		}
		p.line("  %s", v)
	}
	word := "PASS"
	if held < judged {
		word = "FAIL"
		p.why(r.Scenario.Description)
	}
	p.line("\n%s %s (%d of %d expectations, %s)", word, r.Title(), held, judged, r.played(took))
	return p.err
}

// played says how the run was played, and how long that took.
func (r *Result) played(took time.Duration) string {
	took = took.Round(10 * time.Millisecond)
	if r.Gateway == "" {
		return fmt.Sprintf("simulated %s in %s", r.Scenario.Duration, took)
	}
	return fmt.Sprintf("%s on %s in %s, moments exact to %s", r.Scenario.Duration, r.Gateway, took, shown(r.toleranceAt(r.end())))
}

// String prints the expectation with a mark and what was seen.
func (v Verdict) String() string {
	mark := "✓"
	switch {
	case v.Unseen:
		mark = "–"
	case !v.OK:
		mark = "✗"
	}
	return fmt.Sprintf("%s %s — seen: %s", mark, v.What, v.Seen)
}

func (r *Result) blockRows() [][]string {
	rows := [][]string{{"block of", "from", "until", "strikes", "reason", ""}}
	for _, b := range r.Blocks {
		notes := []string{strings.TrimSpace(b.mark())}
		if b.Extended > 0 {
			notes = append(notes, fmt.Sprintf("extended %d×", b.Extended))
		}
		if b.Shortened > 0 {
			notes = append(notes, fmt.Sprintf("shortened %d×", b.Shortened))
		}
		if b.Lost {
			notes = append(notes, "LOST")
		}
		if earliest, latest := b.ends(); earliest != latest {
			notes = append(notes, "end not seen")
		}
		rows = append(rows, []string{
			b.Endpoint, shown(b.Seen), shown(b.Until), fmt.Sprint(b.Strikes), b.Reason,
			strings.TrimSpace(strings.Join(notes, " ")),
		})
	}
	return rows
}

func (r *Result) endpointRows() [][]string {
	rows := [][]string{{"requests to", "n", "share", "P50 wait", "P95 wait", "≥" + shown(r.Scenario.slowThreshold())}}
	waits := map[string][]wait{}
	for _, q := range r.Requests {
		waits[q.Endpoint] = append(waits[q.Endpoint], wait{q.Waited(r.end()), q.waits()})
	}
	for _, cluster := range r.Scenario.Clusters {
		rows = append(rows, r.clusterRows(cluster, waits)...)
	}
	if nowhere := len(waits[""]); nowhere > 0 {
		rows = append(rows, []string{"(none)", fmt.Sprint(nowhere)})
	}
	return rows
}

// clusterRows are those of the cluster's endpoints in the file's order. Where
// not all can be shown, those that were slow most often come first.
func (r *Result) clusterRows(c Cluster, waits map[string][]wait) [][]string {
	endpoints := namesOf(c.Endpoints, func(e Endpoint) string { return e.Name })
	total := 0
	for _, name := range endpoints {
		total += len(waits[name])
	}
	if len(endpoints) > rowsShown {
		slices.SortStableFunc(endpoints, func(a, b string) int { return r.slowOnes(waits[b]) - r.slowOnes(waits[a]) })
	}
	var rows [][]string
	for _, name := range endpoints {
		rows = append(rows, r.endpointRow(name, waits[name], total))
	}
	return rows
}

func (r *Result) slowOnes(waits []wait) int {
	n := 0
	for _, wait := range waits {
		if wait.so >= r.Scenario.slowThreshold() {
			n++
		}
	}
	return n
}

func (r *Result) endpointRow(name string, waits []wait, total int) []string {
	if len(waits) == 0 {
		return []string{name, "0"}
	}
	slices.SortFunc(waits, wait.compare)
	return []string{
		name, fmt.Sprint(len(waits)), Percent(100 * float64(len(waits)) / float64(total)).String(),
		percentile(waits, 50).String(), percentile(waits, 95).String(), fmt.Sprint(r.slowOnes(waits)),
	}
}

// slowThreshold is the global one of the plugin's configuration at the start, or its default.
func (s *Scenario) slowThreshold() time.Duration {
	if given, err := time.ParseDuration(gjson.GetBytes(s.Plugin, "slow_threshold").String()); err == nil {
		return given
	}
	return 70 * time.Second
}

// wait is how long a request has waited so far, and whether it waits on.
type wait struct {
	so time.Duration
	on bool
}

// compare orders waits by their length. One that goes on is longer than one that does not.
func (w wait) compare(other wait) int {
	if order := cmp.Compare(w.so, other.so); order != 0 || w.on == other.on {
		return order
	}
	if w.on {
		return 1
	}
	return -1
}

// String marks the wait of a request that waits on at the end of the run: it is longer, by
// nobody knows how much.
func (w wait) String() string {
	if w.on {
		return ">" + shown(w.so)
	}
	return shown(w.so)
}

// percentile takes the nearest rank of sorted values.
func percentile(sorted []wait, p int) wait {
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

// shown is a moment or a duration as people want to read it.
func shown(d time.Duration) string { return d.Round(time.Millisecond).String() }

// printer writes until the first error.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, format+"\n", args...)
	}
}

// why prints what the file says a failed scenario is good for, if it says so.
func (p *printer) why(description string) {
	if text := strings.Join(strings.Fields(description), " "); text != "" {
		p.line("\n  why it matters: %s", visible(text))
	}
}

func (p *printer) warnings(warnings []string) {
	if len(warnings) > 0 {
		p.line("")
	}
	for _, warning := range warnings {
		p.line("  config warning: %s", visible(warning))
	}
}

// table prints rows under a heading, or nothing when there is only the heading.
func (p *printer) table(rows [][]string) {
	if len(rows) == 1 || p.err != nil {
		return
	}
	p.line("")
	table := tabwriter.NewWriter(p.to, 0, 0, 2, ' ', 0)
	for _, row := range rows[:min(len(rows), rowsShown+1)] {
		_, _ = fmt.Fprintf(table, "  %s\n", strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	p.err = table.Flush()
	if more := len(rows) - 1 - rowsShown; more > 0 {
		p.line("  … %d more", more)
	}
}
