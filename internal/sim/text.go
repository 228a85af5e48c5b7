package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This file keeps what a scenario file says on one readable line of an error or a report.

// visible writes what cannot be printed, line breaks above all, as an escape: \n.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// quoted is a name as it is, or in quotes when there is something in it that cannot be
// printed.
func quoted(name string) string {
	if visible(name) == name {
		return name
	}
	return strconv.Quote(name)
}

// printable refuses a name that would break the lines of the report and the log.
func printable(name string) error {
	if visible(name) == name {
		return nil
	}
	return fmt.Errorf("given %q; should be printable and on one line", name)
}

// excerpt keeps JSON in an error on one short line.
func excerpt(raw []byte) string {
	const limit = 60
	text := []rune(string(raw))
	if len(text) <= limit {
		return visible(string(raw))
	}
	return visible(string(text[:limit])) + "…"
}

// OneLine folds an error of several lines into one, without anything that cannot be printed.
func OneLine(err error) error {
	return errors.New(visible(strings.Join(strings.Fields(err.Error()), " ")))
}
