package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/demo"
	"endpoint-breaker/internal/liveview"
)

const defaultScale = 10

type demoFlags struct {
	wasm, out  string
	workers    int
	rate       float64
	scale      float64
	realTime   bool
	seed       uint64
	plain      bool
	screenshot string
}

func demoCommand() *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "show a slow endpoint being found, avoided and taken back",
		Long: `Run the plugin as shipped in an embedded gateway in front of three model
servers, under load. One of them turns slow; the plugin finds it, keeps new
requests away from it, and lets it come back when its block is over.

A live view shows it while it runs: per endpoint its state, requests per second,
latency and how much longer it is blocked; q leaves it, and ends the demo. Without
a terminal, with TERM=dumb, in CI or with --plain there are plain lines instead.

Then follow a table and each condition with ✓ or ✗ and its numbers. A picture of it all is written as a PNG. The exit code is 0 when
every condition holds: the slow endpoint was blocked in time and once, no other
endpoint was, it got no new request while blocked, it came back, and nobody got
an error.

Time runs 10× faster than deployed (slow_threshold 7s instead of 70s, and so on),
which takes about 25 seconds.`,
		Example: `  lab demo                        # about 25 seconds
  lab demo --scale 20 --rate 80   # faster, and more requests
  lab demo --real-time            # 70s / 5s / 45s as deployed, about 4 minutes
  lab demo --workers 4 --out /tmp/demo.png
  lab demo --plain --screenshot docs/live-view.svg`,
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
	cmd.Flags().BoolVar(&flags.plain, "plain", false, "plain lines instead of the live view")
	cmd.Flags().StringVar(&flags.screenshot, "screenshot", "", "also draw the live view, as it stands during the block, to this SVG file")
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
	for _, file := range []string{f.out, f.screenshot} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
	}
	recording, err := demo.Run(cmd.Context(), demo.Options{
		Wasm: wasm, Plan: plan, Workers: f.workers, Rate: f.rate, Seed: f.seed, Audience: f.audience(cmd),
	})
	if err != nil {
		return err
	}
	return f.report(cmd, recording)
}

func (f demoFlags) audience(cmd *cobra.Command) demo.Audience {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	audience := demo.Narrate(out)
	if !f.plain && liveview.Possible(in, out, os.Getenv) {
		terminal := liveview.Terminal{In: in, Out: out, Env: os.Environ()}
		audience = viewThenLog(liveview.Show(terminal), out, cmd.ErrOrStderr())
	}
	if f.screenshot == "" {
		return audience
	}
	return together(audience, liveview.Screenshot(f.screenshot))
}

// viewThenLog leaves the log of what happened where the view was. When the terminal
// cannot show the view the story goes on in plain lines.
func viewThenLog(show demo.Audience, out, errOut io.Writer) demo.Audience {
	return func(ctx context.Context, board *demo.Board) error {
		err := show(ctx, board)
		switch {
		case errors.Is(err, liveview.ErrQuit):
			return quitError{err}
		case err != nil:
			fmt.Fprintf(errOut, "lab: plain lines, for the live view failed: %v\n", err)
			return demo.Narrate(out)(ctx, board)
		default:
			demo.WriteLog(out, board.State())
			return nil
		}
	}
}

// quitError is how a demo ends that somebody has left: as one that Ctrl-C has ended.
type quitError struct{ error }

// ExitCode is the program's.
func (quitError) ExitCode() int { return interrupted }

// together has several audiences follow one story; the first that fails ends it.
func together(audiences ...demo.Audience) demo.Audience {
	return func(ctx context.Context, board *demo.Board) error {
		group, ctx := errgroup.WithContext(ctx)
		for _, follow := range audiences {
			group.Go(func() error { return follow(ctx, board) })
		}
		return group.Wait()
	}
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
	file, err := os.Create(f.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return demo.WritePicture(file, recording)
}
