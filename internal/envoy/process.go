package envoy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// command is what to run.
type command struct {
	path           string
	args           []string
	stdout, stderr io.Writer
	grace          time.Duration // between being told to end and being killed
	ended          func() error  // called when the process is gone, before anybody learns of it
}

// process is a child that is always waited for.
type process struct {
	pid    int
	cancel context.CancelFunc
	done   chan struct{} // closed when the process is gone and cleaned up
	died   error         // why it ended without being told to; valid after done
	clean  error         // what ended returned; valid after done
}

// startProcess runs a command until ctx is done or stop is called.
func startProcess(ctx context.Context, c command) (*process, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cancel: cancel, done: make(chan struct{})}
	started := make(chan error)
	go p.run(ctx, c, started)
	if err := <-started; err != nil {
		cancel()
		return nil, err
	}
	return p, nil
}

func (p *process) run(ctx context.Context, c command, started chan<- error) {
	// The kernel takes the end of the thread that has forked for the end of the parent, so this
	// one lives as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = c.grace
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		started <- fmt.Errorf("starting Envoy: %w", err)
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil

	err := cmd.Wait()
	if ctx.Err() == nil {
		p.died = fmt.Errorf("Envoy ended by itself: %w", orElse(err, errors.New("exit status 0")))
	}
	p.cancel()
	p.clean = c.ended()
	close(p.done)
}

// stop ends the process and waits for its end.
func (p *process) stop() error {
	p.cancel()
	<-p.done
	return errors.Join(p.died, p.clean)
}

// cause tells why the process is gone. Only to be called after done.
func (p *process) cause() error { return orElse(p.died, errors.New("it was stopped")) }

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
