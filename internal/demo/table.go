package demo

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// WriteTable prints, for each phase and endpoint, the requests that the plugin decided
// about in that phase, and how long their clients waited for the last byte.
func WriteTable(w io.Writer, r *Recording) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "phase\ttime\tendpoint\trequests\tshare\tP50\tP95")
	for _, phase := range r.Phases() {
		writePhase(table, r, phase)
	}
	return table.Flush()
}

func writePhase(w io.Writer, r *Recording, phase Phase) {
	from, until := r.Span(phase)
	all := r.In(phase)
	name, span := phase.String(), fmt.Sprintf("%.1f – %.1f s", from.Seconds(), until.Seconds())
	for _, endpoint := range r.Endpoints {
		there := to(endpoint, all)
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", name, span, endpoint,
			len(there), share(len(there), len(all)), quantileText(there, 0.5), quantileText(there, 0.95))
		name, span = "", ""
	}
}

func share(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

func quantileText(requests []Request, q float64) string {
	if len(requests) == 0 {
		return "–"
	}
	return millis(quantile(latencies(requests), q))
}

func latencies(requests []Request) []time.Duration {
	all := make([]time.Duration, len(requests))
	for i, request := range requests {
		all[i] = request.Latency
	}
	return all
}

// quantile is the smallest value that at least the fraction q of all do not exceed.
func quantile(values []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q*float64(len(sorted))+0.9999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}
