package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"endpoint-breaker/internal/demo"
	"endpoint-breaker/internal/liveview"
)

const defaultScale = 10

type demoFlags struct {
	gateway    string
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
		Long: fmt.Sprintf(`Run the plugin as shipped in a gateway in front of three model servers, under
load. One of them turns slow; the plugin finds it, keeps new requests away from it,
and lets it come back when its block is over.

The gateway is a real Envoy, if make envoy has fetched one, and else an embedded
one that behaves as Higress does; the first line tells which, and why.

A live view shows it while it runs: per endpoint its state, requests per second,
latency and how much longer it is blocked; q leaves it, and ends the demo. Without
a terminal, with TERM=dumb, in CI or with --plain there are plain lines instead.

Then follow a table and each condition with ✓ or ✗ and its numbers, and a picture
of it all is written as a PNG. The exit code is 0 when every condition holds: the
slow endpoint was blocked in time and once, no other endpoint was, it got no new
request while blocked, it came back, and nobody got an error. It is 1 when one does
not hold or a file cannot be read or written, 2 when the flags cannot be played, and
130 after q, Ctrl-C or SIGTERM; a second Ctrl-C ends at once.

Each worker counts for itself and needs slow requests of its own, so that more
workers and a larger scale need a higher rate; one that is too low is refused.

Time runs %d× faster than deployed (slow_threshold 7s instead of 70s, and so on),
which takes %s.`, defaultScale, takes(defaultScale)),
		Example: fmt.Sprintf(`  lab demo                        # %s
  lab demo --scale 20 --rate 80   # faster, and more requests
  lab demo --real-time            # 70s / 5s / 45s as deployed, %s
  lab demo --gateway embedded     # not on Envoy
  lab demo --workers 4 --out /tmp/demo.png
  lab demo --plain --screenshot docs/live-view.svg`, takes(defaultScale), takes(1)),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().StringVar(&flags.gateway, "gateway", gatewayAuto, "what to play on: envoy, embedded, or auto, which is Envoy where it can be had")
	cmd.Flags().StringVar(&flags.wasm, "wasm", "", fmt.Sprintf("the plugin to run, the build for the gateway (default %s on Envoy, %s on the embedded gateway)", envoyWasm, embeddedWasm))
	cmd.Flags().StringVar(&flags.out, "out", "dist/demo.png", "where the picture goes")
	cmd.Flags().IntVar(&flags.workers, "workers", 2, fmt.Sprintf("worker VMs of the gateway, 1 to %d", demo.MaxWorkers))
	cmd.Flags().Float64Var(&flags.rate, "rate", 40, fmt.Sprintf("requests per second, on average, up to %d", demo.MaxRate))
	cmd.Flags().Float64Var(&flags.scale, "scale", defaultScale, "how many times faster than deployed time runs, 1 to 50")
	cmd.Flags().BoolVar(&flags.realTime, "real-time", false, "the same as --scale 1")
	cmd.Flags().Uint64Var(&flags.seed, "seed", 1, "decides the arrivals, the requests and the servers' jitter")
	cmd.Flags().BoolVar(&flags.plain, "plain", false, "plain lines instead of the live view")
	cmd.Flags().StringVar(&flags.screenshot, "screenshot", "", "also draw the live view, as it stands during the block, to this SVG file")
	cmd.MarkFlagsMutuallyExclusive("scale", "real-time")
	return cmd
}

// takes is how long a demo at that scale lasts, in words.
func takes(scale float64) string {
	plan, err := demo.NewPlan(scale)
	if err != nil { // the scales of the help are ours
		panic(err)
	}
	return plan.About()
}

func (f demoFlags) run(cmd *cobra.Command) error {
	var view bytes.Buffer // the screenshot
	options, err := f.options(cmd, &view)
	if err != nil {
		return &exitError{misused, err}
	}
	if err := f.checkFiles(); err != nil {
		return err
	}
	recording, err := f.play(cmd.Context(), cmd.OutOrStdout(), options)
	if err != nil {
		return err
	}
	return f.report(cmd.OutOrStdout(), recording, view.Bytes())
}

// report prints the verdict and draws the pictures. Neither that fails hides the other.
func (f demoFlags) report(out io.Writer, recording *demo.Recording, view []byte) error {
	verdict := judge(out, recording)
	drawn := f.draw(out, recording, view)
	if verdict != nil && drawn != nil {
		return fmt.Errorf("%w; %w", verdict, drawn)
	}
	return cmp.Or(verdict, drawn)
}

// options are all but the gateway and the plugin.
func (f demoFlags) options(cmd *cobra.Command, view io.Writer) (demo.Options, error) {
	if err := f.checkGateway(); err != nil {
		return demo.Options{}, err
	}
	if f.realTime {
		f.scale = 1
	}
	plan, err := demo.NewPlan(f.scale)
	if err != nil {
		return demo.Options{}, err
	}
	options := demo.Options{Plan: plan, Workers: f.workers, Rate: f.rate, Seed: f.seed, Audience: f.audience(cmd, view)}
	return options, options.Check()
}

func (f demoFlags) audience(cmd *cobra.Command, view io.Writer) demo.Audience {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	audience := demo.Narrate(out)
	if !f.plain && liveview.Possible(in, out, os.Getenv) {
		terminal := liveview.Terminal{In: in, Out: out, Env: os.Environ()}
		audience = viewThenLog(liveview.Show(terminal), out, cmd.ErrOrStderr())
	}
	if f.screenshot == "" {
		return audience
	}
	return together(audience, liveview.Screenshot(view))
}

// viewThenLog leaves the log of what happened where the view was. When the terminal
// cannot show the view the story goes on in plain lines.
func viewThenLog(show demo.Audience, out, errOut io.Writer) demo.Audience {
	return func(ctx context.Context, board *demo.Board) error {
		err := show(ctx, board)
		switch {
		case errors.Is(err, liveview.ErrQuit):
			signal.Reset(os.Interrupt) // the view took the first Ctrl-C for a key
			return &exitError{interrupted, err}
		case err != nil:
			fmt.Fprintf(errOut, "lab: plain lines, for the live view failed: %v\n", err)
			return demo.Narrate(out)(ctx, board)
		default:
			demo.WriteLog(out, board.State())
			return nil
		}
	}
}

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

// judge prints what happened and the verdict on it.
func judge(out io.Writer, recording *demo.Recording) error {
	fmt.Fprintln(out)
	if err := demo.WriteTable(out, recording); err != nil {
		return err
	}
	fmt.Fprintln(out)
	broken := 0
	for _, finding := range demo.Judge(recording) {
		fmt.Fprintln(out, finding)
		if !finding.OK {
			broken++
		}
	}
	if broken > 0 {
		return fmt.Errorf("conditions that do not hold: %d, see the lines with ✗", broken)
	}
	return nil
}
