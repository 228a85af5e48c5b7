// Package redistest starts a real Redis server for a test.
package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// startTimeout is far more than a server needs to start.
const startTimeout = 20 * time.Second

// Start runs a redis-server that keeps nothing on disk on a free port of
// 127.0.0.1 and returns its address. More arguments go to the server, such as
// "--requirepass", "secret". It ends with the test, or with the test's process
// however that ends. Without a redis-server the test is skipped, or fails in CI.
func Start(tb testing.TB, arguments ...string) (address string) {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		missing(tb)
	}
	// Somebody else may take the port between looking and starting.
	var err error
	for range 3 {
		if address, err = try(tb, arguments); err == nil {
			return address
		}
	}
	tb.Fatalf("start redis-server: %v", err)
	return ""
}

func missing(tb testing.TB) {
	tb.Helper()
	const message = "redis-server is missing: make setup installs it (as root on Debian)"
	if os.Getenv("CI") != "" {
		tb.Fatal(message)
	}
	tb.Skip(message)
}

func try(tb testing.TB, arguments []string) (string, error) {
	tb.Helper()
	address, err := freeAddress(tb.Context())
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(address)
	// The shell outlives this process by the time that it takes to see its end of
	// the pipe closed, and takes the server with it.
	script := []string{
		"-c", `redis-server "$@" 2>&1 & cat >/dev/null; kill $!; wait`, "redis-server",
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tb.TempDir(),
	}
	server := exec.CommandContext(tb.Context(), "sh", append(script, arguments...)...)
	server.Cancel = func() error { return nil } // the pipe ends it
	stdin, err := server.StdinPipe()
	if err != nil {
		return "", err
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	stop := func() {
		_ = stdin.Close() // a server that is gone already is no failure
		_, _ = io.Copy(io.Discard, stdout)
		_ = server.Wait()
	}
	giveUp := time.AfterFunc(startTimeout, func() { _ = stdin.Close() })
	err = ready(stdout)
	giveUp.Stop()
	if err != nil {
		stop()
		return "", err
	}
	tb.Cleanup(stop)
	return address, nil
}

func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// ready reads the server's log until it serves or says why it does not.
func ready(log io.Reader) error {
	lines := bufio.NewScanner(log)
	var last string
	for lines.Scan() {
		last = lines.Text()
		switch {
		case strings.Contains(last, "Ready to accept connections"):
			return nil
		case strings.Contains(last, "Failed listening"), strings.Contains(last, "FATAL"):
			return errors.New(last)
		}
	}
	return fmt.Errorf("it ended with %q", last)
}
