// Command coverage is the gate for files that must be tested to the last branch.
// It reads a profile of `go test -covermode=atomic -coverprofile`, prints a table
// with one row per file, and fails, naming each place, if any statement never
// ran, or if any branch without a statement of its own was never taken.
//
//	coverage -profile cover.out file.go ...
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	profile := flag.String("profile", "cover.out", "profile written by go test -coverprofile")
	flag.Parse()

	if err := run(os.Stdout, *profile, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

// run checks every file and prints the table, also when the gate fails.
func run(out io.Writer, profilePath string, files []string) error {
	if len(files) == 0 {
		return errors.New("no files given")
	}
	blocks, err := readProfile(profilePath)
	if err != nil {
		return err
	}

	var errs []error
	for _, file := range files {
		c, err := measure(file, blocks)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(out, "  %-24s %4d of %4d statements %6.1f %%\n", filepath.Base(file), c.ran, c.total, c.percent())
		for _, place := range c.missed {
			errs = append(errs, errors.New(place))
		}
	}
	if len(errs) == 0 {
		fmt.Fprintln(out, "  every statement ran, and every branch was taken")
	}
	return errors.Join(errs...)
}
