package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of `go test -json`; see `go doc test2json`. Build output
// carries ImportPath in place of Package.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// line is a piece of output and the test that wrote it, "" for the package.
type line struct {
	test string
	text string
}

// report turns the events into what a person wants to read.
type report struct {
	out     io.Writer
	pending map[string][]line          // by package, until its end is known
	quiet   map[string]map[string]bool // by package: tests whose output is dropped
	passed  int
	failed  int
	skipped []string
}

func newReport(out io.Writer) *report {
	return &report{
		out:     out,
		pending: map[string][]line{},
		quiet:   map[string]map[string]bool{},
	}
}

// read consumes the events until the end of the stream. A line that is no event
// is passed on: go prints some of its own errors that way.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		text, err := lines.ReadString('\n')
		if text != "" {
			r.consume(text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *report) consume(text string) {
	var e event
	if json.Unmarshal([]byte(text), &e) != nil || e.Action == "" {
		fmt.Fprint(r.out, text)
		return
	}

	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.pending[e.Package] = append(r.pending[e.Package], line{e.Test, e.Output})
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.closePackage(e)
		} else {
			r.closeTest(e)
		}
	}
}

func (r *report) closeTest(e event) {
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		return // its output is wanted
	case "skip":
		r.skipped = append(r.skipped, e.Package+" "+e.Test)
	}

	if r.quiet[e.Package] == nil {
		r.quiet[e.Package] = map[string]bool{}
	}
	r.quiet[e.Package][e.Test] = true
}

// closePackage prints the closing line of a package and, when it failed, the
// output of its failed and unfinished tests.
func (r *report) closePackage(e event) {
	for _, l := range r.pending[e.Package] {
		wanted := isClosingLine(l)
		if e.Action == "fail" {
			wanted = !r.quiet[e.Package][l.test] && !strings.HasPrefix(l.text, "=== ")
		}
		if wanted {
			fmt.Fprint(r.out, l.text)
		}
	}
	delete(r.pending, e.Package)
	delete(r.quiet, e.Package)
}

// isClosingLine reports whether plain `go test` prints the line of a package
// that passed.
func isClosingLine(l line) bool {
	return l.test == "" && (strings.HasPrefix(l.text, "ok ") || strings.HasPrefix(l.text, "? "))
}

// verdict prints the totals; it is an error when no test ran, or when one was
// skipped although none may be.
func (r *report) verdict(noSkips bool) error {
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
	for _, name := range r.skipped {
		fmt.Fprintln(r.out, "  skipped:", name)
	}

	if r.passed+r.failed == 0 {
		return errors.New("no test ran")
	}
	if noSkips && len(r.skipped) > 0 {
		return fmt.Errorf("%d skipped, and here every test must run", len(r.skipped))
	}
	return nil
}
