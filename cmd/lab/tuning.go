package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"endpoint-breaker/internal/tuning"
)

type tuningFlags struct {
	wasm, out string
	quick     bool
}

func tuningCommand() *cobra.Command {
	var flags tuningFlags
	cmd := &cobra.Command{
		Use:   "tuning",
		Short: "show what the keys about return and evidence cost and bring",
		Long: `Play hosts that stay slow, that heal, that hang and that have a hiccup against the
plugin as shipped, in virtual time, with each setting of the keys about return and
evidence.

A line is printed for each part that is done, and the tables at the end. With --out
they go between their marks in tuning.md and tuning.zh.md of that folder, and the
pictures beside them. The same plugin gives the same figures.`,
		Example: `  lab tuning --quick       # one run of each case, for a look
  lab tuning --out docs    # what the documents have`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	cmd.Flags().StringVar(&flags.wasm, "wasm", embeddedWasm, "the plugin to run, in the build for Higress")
	cmd.Flags().StringVar(&flags.out, "out", "", "write the tables and pictures into the pages of this folder")
	cmd.Flags().BoolVar(&flags.quick, "quick", false, "play each case once")
	return cmd
}

func (f tuningFlags) run(cmd *cobra.Command) error {
	if f.out != "" {
		if err := tuning.CheckDocs(f.out); err != nil {
			return &exitError{misused, fmt.Errorf("--out: %w", err)}
		}
	}
	wasm, err := os.ReadFile(f.wasm)
	if err != nil {
		return &exitError{misused, fmt.Errorf("%w (make build makes %s)", err, embeddedWasm)}
	}
	out := cmd.OutOrStdout()
	report, err := tuning.Run(cmd.Context(), tuning.Options{
		Wasm: wasm, Quick: f.quick,
		Progress: func(done, all int, what string) { fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d: %s\n", done, all, what) },
	})
	if err != nil {
		return err
	}
	if err := report.WriteTables(out); err != nil {
		return err
	}
	if f.out == "" {
		return nil
	}
	if err := report.WriteDocs(f.out); err != nil {
		return err
	}
	fmt.Fprintf(out, "The pages and pictures are in %s.\n", f.out)
	return nil
}
