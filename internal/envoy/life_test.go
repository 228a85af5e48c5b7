package envoy_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/envoy"
	"endpoint-breaker/internal/plugintest"
)

func TestEveryWorkerServesWhenStartReturns(t *testing.T) {
	for _, workers := range []int{1, 4} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			e := start(t, envoy.Setup{Workers: workers, Listener: listener(t, answering(http.StatusAccepted))})
			status, _ := get(t, e.URL())
			assert.Equal(t, http.StatusAccepted, status)
			concurrency, err := e.Metric(soon(t), "server.concurrency")
			require.NoError(t, err)
			assert.EqualValues(t, workers, concurrency)
			serving, err := e.Metric(soon(t), "listener_manager.listener_create_success")
			require.NoError(t, err)
			assert.EqualValues(t, workers, serving)
		})
	}
}

func TestStopLeavesNoProcessAndNoFiles(t *testing.T) {
	files := t.TempDir()
	t.Setenv("TMPDIR", files)
	e := start(t, envoy.Setup{Listener: listener(t, answering(http.StatusAccepted))})
	require.NotEmpty(t, entries(t, files))
	require.True(t, runs(e.PID()))

	require.NoError(t, e.Stop())
	assert.False(t, runs(e.PID()))
	assert.Empty(t, entries(t, files))
	assert.NoError(t, e.Stop(), "the second time")
}

func TestTheEndOfTheContextLeavesNoProcessAndNoFiles(t *testing.T) {
	files := t.TempDir()
	t.Setenv("TMPDIR", files)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := envoy.Start(ctx, envoy.Setup{
		Binary: plugintest.EnvoyBinary(t), Listener: listener(t, answering(http.StatusAccepted)),
	})
	require.NoError(t, err)
	cancel()
	eventually(t, func() bool { return !runs(e.PID()) && len(entries(t, files)) == 0 }, "the end of Envoy")
	assert.NoError(t, e.Stop())
}

func TestEnvoyEndsWithTheProcessThatStartedIt(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+plugintest.EnvoyBinary(t), "TMPDIR="+t.TempDir())
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.True(t, runs(pid))

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	eventually(t, func() bool { return !runs(pid) }, "the end of Envoy")
}

func TestAnEnvoyThatDiesIsReported(t *testing.T) {
	e, err := envoy.Start(t.Context(), envoy.Setup{
		Binary: plugintest.EnvoyBinary(t), Listener: listener(t, answering(http.StatusAccepted)),
	})
	require.NoError(t, err)
	process, err := os.FindProcess(e.PID())
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGKILL))
	_, err = e.WaitForLog(soon(t), "what nobody says")
	require.ErrorContains(t, err, "Envoy has ended")
	require.ErrorContains(t, e.SetListener(soon(t), listener(t, answering(http.StatusOK))), "administration interface")
	assert.ErrorContains(t, e.Stop(), "Envoy ended by itself: signal: killed")
}

func TestStartFailsAtOnceWhenTheProgramFails(t *testing.T) {
	files := t.TempDir()
	t.Setenv("TMPDIR", files)
	_, err := envoy.Start(t.Context(), envoy.Setup{
		Binary: program(t, "echo no luck today >&2; exit 3"), Listener: listener(t, answering(http.StatusOK)),
	})
	require.ErrorContains(t, err, "no luck today")
	require.ErrorContains(t, err, "exit status 3")
	assert.Empty(t, entries(t, files))
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := envoy.Start(ctx, envoy.Setup{
		Binary:   program(t, "echo started >&2; exec sleep 1000"),
		Listener: listener(t, answering(http.StatusOK)),
		OnLog:    func(envoy.LogLine) { cancel() },
	})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestSetupMustMakeSense(t *testing.T) {
	l := listener(t, answering(http.StatusOK))
	for wanted, s := range map[string]envoy.Setup{
		"needs a Listener":                   {},
		"Workers: got -1":                    {Listener: l, Workers: -1},
		"DrainTime: got -1ns":                {Listener: l, DrainTime: -1},
		`"models" is no EDS cluster`:         {Listener: l, Endpoints: map[string][]string{"models": nil}},
		"no such file or directory":          {Listener: l, Binary: filepath.Join(t.TempDir(), "envoy")},
		`got "localhost:8000", want ip:port`: eds(envoy.Setup{Listener: l}, "localhost:8000"),
	} {
		t.Run(wanted, func(t *testing.T) {
			if s.Binary == "" {
				s.Binary = program(t, "exit 1")
			}
			_, err := envoy.Start(t.Context(), s)
			assert.ErrorContains(t, err, wanted)
		})
	}
}

func TestUsageIsThatOfTheProcess(t *testing.T) {
	e := start(t, envoy.Setup{Listener: listener(t, answering(http.StatusAccepted))})
	before, err := e.CPUTime()
	require.NoError(t, err)
	eventually(t, func() bool {
		get(t, e.URL())
		now, err := e.CPUTime()
		return err == nil && now > before
	}, "more CPU time")
	memory, err := e.MemoryBytes()
	require.NoError(t, err)
	assert.Greater(t, memory, int64(10<<20))
}

// program returns the path of a shell script that stands in for Envoy.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "envoy")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return path
}

func entries(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	return all
}

// runs tells whether a process exists; one that has ended and waits for its parent does not count.
func runs(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "\nState:\tZ")
}
