// Command lab shows and tries the plugin as shipped, on an embedded gateway.
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

// interrupted is the exit code of a program that Ctrl-C has ended, as shells have it.
const interrupted = 130

// run is main with an exit code: a command's own, else 1 for an error.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "lab: interrupted")
		return interrupted
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "lab",
		Short:         "show and try endpoint-breaker on an embedded gateway",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		demoCommand(),
		simCommand(),
	)
	return root
}
