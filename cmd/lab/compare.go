package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"endpoint-breaker/internal/compare"
	"endpoint-breaker/internal/liveview"
)

type compareFlags struct {
	wasm, out, from string
	quick           bool
	setups, faults  []string
	seed            uint64
	atOnce          int
}

func compareCommand() *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "put the breaker beside what Envoy can do by itself",
		Long: fmt.Sprintf(`Send the same requests through the same Envoy, under the same fault, once for each
set-up: nothing, several forms of outlier detection, least-request balancing, and
this breaker. Each is measured from outside, by its endpoints and its clients.

One line is printed when a set-up has been through a fault, and tables at the end.
With --out the tables, what they mean and the pictures become pages of the documents,
in English and in Chinese; with --from pages are written anew from the figures of an
earlier run.

Time runs %d times faster than deployed. All set-ups go through a fault at the same
time, each with an Envoy and endpoints of its own.

The exit code is 0 when the run bears out what the project claims: under the slow and
the hanging fault the breaker finds the endpoint, lets it come back, keeps nothing
from the others and is ahead of doing nothing, and it never answers 503. It is 1 when
something does not hold, or when the machine was too busy to tell.

set-ups: %s
faults:  %s`, compare.Scale, strings.Join(names(compare.Setups(), setupName), ", "), strings.Join(names(compare.Faults(), faultName), ", ")),
		Example: fmt.Sprintf(`  lab compare --quick                          # %s, what CI runs
  lab compare --out docs                       # %s
  lab compare --fault hanging --fault slow
  lab compare --setup nothing,breaker --fault one-by-one --seed 7
  lab compare --from docs/comparison.json --out docs`, compareTakes(true), compareTakes(false)),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().StringVar(&flags.wasm, "wasm", envoyWasm, "the plugin to run, in the build for a stock Envoy")
	cmd.Flags().StringVar(&flags.out, "out", "", "write the pages and pictures into this folder")
	cmd.Flags().StringVar(&flags.from, "from", "", "read the figures from this file instead of measuring")
	cmd.Flags().BoolVar(&flags.quick, "quick", false, "three set-ups, two faults, and a shorter one")
	cmd.Flags().StringSliceVar(&flags.setups, "setup", nil, "only this set-up; may be given again")
	cmd.Flags().StringSliceVar(&flags.faults, "fault", nil, "only this fault; may be given again")
	cmd.Flags().Uint64Var(&flags.seed, "seed", 1, "decides the requests, their times and the endpoints' jitter")
	cmd.Flags().IntVar(&flags.atOnce, "at-once", len(compare.Setups()), "so many Envoys at the same time, 1 to 16")
	for _, other := range []string{"quick", "setup", "fault", "seed", "at-once", "wasm"} {
		cmd.MarkFlagsMutuallyExclusive("from", other)
	}
	return cmd
}

func setupName(s compare.Setup) string { return s.Name }
func faultName(f compare.Fault) string { return f.Name }

func names[T any](all []T, nameOf func(T) string) []string {
	list := make([]string, len(all))
	for i, one := range all {
		list[i] = nameOf(one)
	}
	return list
}

// compareTakes is about how long a run lasts, in words.
func compareTakes(quick bool) string {
	options, err := compareFlags{quick: quick, atOnce: len(compare.Setups())}.options()
	if err != nil { // the flags are ours
		panic(err)
	}
	takes := options.Takes()
	if takes < 2*time.Minute {
		return fmt.Sprintf("about %.0f s", takes.Seconds())
	}
	return fmt.Sprintf("about %.0f min", takes.Minutes())
}

func (f compareFlags) run(cmd *cobra.Command) error {
	report, err := f.report(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintln(out)
	if err := report.WriteTables(out); err != nil {
		return err
	}
	if f.out != "" {
		if err := report.WriteDocs(f.out); err != nil {
			return err
		}
		fmt.Fprintf(out, "The pages and pictures are in %s.\n", f.out)
	}
	broken := report.Broken()
	for _, line := range broken {
		fmt.Fprintln(out, "✗", line)
	}
	if len(broken) > 0 {
		return fmt.Errorf("claims that do not hold: %d, see the lines with ✗", len(broken))
	}
	return nil
}

// report measures, or reads what an earlier run has measured.
func (f compareFlags) report(cmd *cobra.Command) (*compare.Report, error) {
	if f.from != "" {
		return compare.ReadReport(f.from)
	}
	options, err := f.options()
	if err != nil {
		return nil, &exitError{misused, err}
	}
	if err := envoyMissing(f.wasm); err != nil {
		return nil, err
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return nil, fmt.Errorf("--out: %w", err)
		}
	}
	options.Watch = watch(cmd)
	return compare.Run(cmd.Context(), options)
}

func (f compareFlags) options() (compare.Options, error) {
	o := compare.Options{
		Wasm: f.wasm, Timeline: compare.FullTimeline(), Seed: f.seed, AtOnce: f.atOnce,
		Setups: compare.Setups(), Faults: compare.Faults(),
	}
	if f.atOnce < 1 || f.atOnce > 16 {
		return o, fmt.Errorf("at-once: %d given, it goes from 1 to 16", f.atOnce)
	}
	if f.quick {
		o.Timeline = compare.QuickTimeline()
		o.Setups, o.Faults = compare.Quick()
	}
	var wrong [2]error
	o.Setups, wrong[0] = compare.ChooseSetups(o.Setups, f.setups)
	o.Faults, wrong[1] = compare.ChooseFaults(o.Faults, f.faults)
	return o, errors.Join(wrong[:]...)
}

// watch shows how far a run is: a line for each set-up that has been through a fault, and on
// a terminal one that changes every second.
func watch(cmd *cobra.Command) func(compare.Progress) {
	out := cmd.OutOrStdout()
	p := &progressPrinter{out: out, live: liveview.Possible(cmd.InOrStdin(), out, os.Getenv)}
	return p.print
}

type progressPrinter struct {
	out  io.Writer
	live bool
	last string // what was said last
}

func (p *progressPrinter) print(progress compare.Progress) {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	if progress.Finished != nil {
		fmt.Fprintln(p.out, progress.Finished.Line())
		return
	}
	line := fmt.Sprintf("round %d of %d: %s", progress.Round, progress.Rounds, progress.Doing)
	if p.live {
		fmt.Fprint(p.out, line)
		if progress.End > 0 {
			fmt.Fprintf(p.out, ", %.0f s of %.0f s", progress.At.Seconds(), progress.End.Seconds())
		}
		return
	}
	if line != p.last {
		fmt.Fprintln(p.out, line)
		p.last = line
	}
}
