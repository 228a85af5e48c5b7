// Command gotest runs `go test -json` with the arguments it is given and prints
// what plain `go test` prints: one closing line per package, and the output of
// what failed. It adds the number of tests and the names of the skipped ones,
// which `go test` tells only with -v, among the output of everything else.
//
// With -no-skips a skipped test is a failure: in CI every test must have run.
//
//	gotest [-no-skips] -- -race ./...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	noSkips := flag.Bool("no-skips", false, "fail when a test was skipped")
	flag.Parse()

	if err := run(flag.Args(), *noSkips); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run reports what go test reports, and its failure.
func run(args []string, noSkips bool) error {
	if len(args) == 0 {
		// Without packages go test would test the current folder only, or
		// nothing at all: never what a gate wants.
		return errors.New("no packages given")
	}

	cmd := exec.CommandContext(context.Background(), "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("pipe from go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}

	rep := newReport(os.Stdout)
	readErr := rep.read(stdout)
	if readErr != nil {
		// go test must not block on a full pipe while we wait for its end.
		_, _ = io.Copy(io.Discard, stdout)
	}

	return errors.Join(readErr, cmd.Wait(), rep.verdict(noSkips))
}
