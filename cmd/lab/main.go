// Command lab shows, tries and compares the plugin as shipped, on a real Envoy and on an embedded
// gateway.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run())
}

// The exit codes besides 0.
const (
	failed      = 1
	misused     = 2   // as shells have it
	interrupted = 130 // by Ctrl-C, as shells have it
)

// run is main with an exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the program at once, however long its end takes.
	context.AfterFunc(ctx, stop)
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "lab: interrupted")
		return interrupted
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	return exitCode(err)
}

// exitCode is the one that an error asks for. One that asks for none comes from cobra,
// before any command began: the call is wrong.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return misused
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "show, try and compare endpoint-breaker, on a real Envoy and an embedded gateway",
		Long: `Show, try and compare endpoint-breaker, on a real Envoy and an embedded gateway.

The exit code is 0 when everything holds, 1 when something does not, 2 for a call
that is wrong (an unknown command or flag, a value that cannot be played), and 130
after Ctrl-C or SIGTERM. A second Ctrl-C ends at once.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(cmd.Help(), errors.New("a command is missing"))
		},
	}
	root.AddCommand(
		failing(demoCommand()),
		failing(simCommand()),
		failing(compareCommand()),
		failing(tuningCommand()),
	)
	return root
}

// failing gives every error of the command an exit code: failed, if it has none yet.
func failing(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var coded interface{ ExitCode() int }
		if err == nil || errors.As(err, &coded) {
			return err
		}
		return &exitError{failed, err}
	}
	return cmd
}
