package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"endpoint-breaker/internal/sim"
)

// exitError carries the exit code that a command wants.
type exitError struct {
	code int
	err  error
}

// Error is one line, whatever the names of files and flags have in them.
func (e *exitError) Error() string { return sim.OneLine(e.err).Error() }

func (e *exitError) Unwrap() error { return e.err }

// ExitCode is 1 for a scenario that failed and 2 for one that cannot be played.
func (e *exitError) ExitCode() int { return e.code }

func simCommand() *cobra.Command {
	var logFile string
	var seed uint64
	var gateway simGateway
	cmd := &cobra.Command{
		Use:   "sim FILE.yaml…",
		Short: "run scenario files and print the verdicts",
		Long: `Run scenario files against the plugin as shipped, in virtual time or on a real Envoy.

For each it prints the blocks, the requests by endpoint, every expectation and
the verdict. In virtual time the same seed gives the same run. With --gateway envoy
the time of the file passes as many times faster as --scale says, and what a verdict
needs to know is measured. The exit code is 0 when all scenarios pass, 1 when one
fails, and 2 when one cannot be played or the command line is wrong.

The files in scenarios/ are examples; docs/scenarios.md says what every field
means, and scenarios/scenario.schema.json tells it to editors.`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("a scenario file is missing: lab sim FILE.yaml")
			}
			return nil
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := gateway.check(cmd.Flags().Changed("scale")); err != nil {
				return &exitError{misused, err}
			}
			player := &simPlayer{gateway: gateway, out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr()}
			if cmd.Flags().Changed("seed") {
				player.seed = &seed
			}
			return player.run(cmd.Context(), logFile, files)
		},
	}
	cmd.Flags().StringVar(&gateway.name, "gateway", gatewayEmbedded, "embedded: in virtual time; envoy: a real one, in scaled real time")
	cmd.Flags().IntVar(&gateway.scale, "scale", 20, "with --gateway envoy: how many seconds of the file pass in one")
	cmd.Flags().StringVar(&gateway.wasm, "wasm", "", "the plugin to run (default: the gateway's build in dist)")
	cmd.Flags().StringVar(&logFile, "log", "", "write the event log to this file")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "play with this seed instead of the file's")
	return cmd
}

// simPlayer plays scenarios one after another.
type simPlayer struct {
	gateway  simGateway
	plugin   []byte  // of the embedded gateway
	seed     *uint64 // nil = each file's own
	log      io.Writer
	out      io.Writer
	progress io.Writer
	runs     int
	failed   int
}

func (p *simPlayer) run(ctx context.Context, logFile string, files []string) (err error) {
	scenarios, err := loadScenarios(files)
	if err != nil {
		return &exitError{2, err}
	}
	if p.plugin, err = p.gateway.load(); err != nil {
		return &exitError{2, err}
	}
	if logFile != "" {
		file, createErr := os.Create(logFile)
		if createErr != nil {
			return &exitError{2, createErr}
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		p.log = file
	}
	for i, scenario := range scenarios {
		if err := p.playAll(ctx, scenario); err != nil {
			return &exitError{2, fmt.Errorf("%s: %w", files[i], err)}
		}
	}
	if p.failed > 0 {
		return &exitError{1, fmt.Errorf("%d of %d %s failed", p.failed, p.runs, runs(p.runs))}
	}
	return nil
}

func runs(n int) string {
	if n == 1 {
		return "run"
	}
	return "runs"
}

// loadScenarios reads all files before the first is played, so that a mistake in
// the last one shows at once.
func loadScenarios(files []string) ([]*sim.Scenario, error) {
	var scenarios []*sim.Scenario
	for _, file := range files {
		scenario, err := sim.Load(file)
		if err != nil {
			return nil, err
		}
		scenarios = append(scenarios, scenario)
	}
	return scenarios, nil
}

// playAll plays a scenario once with each of its numbers of workers.
func (p *simPlayer) playAll(ctx context.Context, scenario *sim.Scenario) error {
	for _, workers := range scenario.Workers {
		if err := p.play(ctx, scenario, workers); err != nil {
			return err
		}
	}
	return nil
}

func (p *simPlayer) play(ctx context.Context, scenario *sim.Scenario, workers int) error {
	seed := scenario.Seed
	if p.seed != nil {
		seed = *p.seed
	}
	if p.runs > 0 {
		if _, err := fmt.Fprintln(p.out); err != nil {
			return err
		}
	}
	started := time.Now()
	result, err := p.playOnce(ctx, scenario, workers, seed)
	if err != nil {
		return err
	}
	p.runs++
	if !result.Passed() {
		p.failed++
	}
	return result.Write(p.out, time.Since(started))
}

// progressOf reports every two seconds how far a long run has come.
func (p *simPlayer) progressOf(scenario *sim.Scenario) func(now time.Duration) {
	const every = 2 * time.Second
	var last time.Time
	return func(now time.Duration) {
		if last.IsZero() {
			last = time.Now()
		}
		if time.Since(last) < every {
			return
		}
		last = time.Now()
		_, _ = fmt.Fprintf(p.progress, "%s: %s of %s\n", scenario.Name, now.Round(time.Second), scenario.Duration)
	}
}
