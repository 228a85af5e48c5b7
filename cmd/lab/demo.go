package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"endpoint-breaker/internal/demo"
)

const defaultScale = 10

type demoFlags struct {
	wasm, out string
	workers   int
	rate      float64
	scale     float64
	realTime  bool
	seed      uint64
}

func demoCommand() *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "show a slow endpoint being found, avoided and taken back",
		Long: `Run the plugin as shipped in an embedded gateway in front of three model
servers, under load. One of them turns slow; the plugin finds it, keeps new
requests away from it, and lets it come back when its block is over.

Progress is printed while it runs, then a table, then each condition with ✓ or ✗
and its numbers. A picture of it all is written as a PNG. The exit code is 0 when
every condition holds: the slow endpoint was blocked in time and once, no other
endpoint was, it got no new request while blocked, it came back, and nobody got
an error.

Time runs 10× faster than deployed (slow_threshold 7s instead of 70s, and so on),
which takes about 25 seconds.`,
		Example: `  lab demo                        # about 25 seconds
  lab demo --scale 20 --rate 80   # faster, and more requests
  lab demo --real-time            # 70s / 5s / 45s as deployed, about 4 minutes
  lab demo --workers 4 --out /tmp/demo.png`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().StringVar(&flags.wasm, "wasm", "dist/endpoint-breaker.wasm", "the plugin to run")
	cmd.Flags().StringVar(&flags.out, "out", "dist/demo.png", "where the picture goes")
	cmd.Flags().IntVar(&flags.workers, "workers", 2, "worker VMs of the gateway")
	cmd.Flags().Float64Var(&flags.rate, "rate", 40, "requests per second, on average")
	cmd.Flags().Float64Var(&flags.scale, "scale", defaultScale, "how many times faster than deployed time runs, 1 to 50")
	cmd.Flags().BoolVar(&flags.realTime, "real-time", false, "the same as --scale 1")
	cmd.Flags().Uint64Var(&flags.seed, "seed", 1, "decides the arrivals, the requests and the servers' jitter")
	cmd.MarkFlagsMutuallyExclusive("scale", "real-time")
	return cmd
}

func (f demoFlags) run(cmd *cobra.Command) error {
	if f.realTime {
		f.scale = 1
	}
	plan, err := demo.NewPlan(f.scale)
	if err != nil {
		return err
	}
	wasm, err := os.ReadFile(f.wasm)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there: run `make build`", f.wasm)
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	recording, err := demo.Run(cmd.Context(), demo.Options{
		Wasm: wasm, Plan: plan, Workers: f.workers, Rate: f.rate, Seed: f.seed, Progress: out,
	})
	if err != nil {
		return err
	}
	return f.report(cmd, recording)
}

func (f demoFlags) report(cmd *cobra.Command, recording *demo.Recording) error {
	out := cmd.OutOrStdout()
	fmt.Fprintln(out)
	if err := demo.WriteTable(out, recording); err != nil {
		return err
	}
	if err := f.picture(recording); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe picture is in %s.\n\n", f.out)
	failed := 0
	for _, finding := range demo.Judge(recording) {
		fmt.Fprintln(out, finding)
		if !finding.OK {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d conditions do not hold, see the lines with ✗", failed)
	}
	return nil
}

func (f demoFlags) picture(recording *demo.Recording) (err error) {
	if err := os.MkdirAll(filepath.Dir(f.out), 0o755); err != nil {
		return err
	}
	file, err := os.Create(f.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return demo.WritePicture(file, recording)
}
