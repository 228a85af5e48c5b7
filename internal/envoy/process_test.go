package envoy

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// signal is a writer that tells when something is written.
type signal chan struct{}

func (s signal) Write(p []byte) (int, error) {
	s <- struct{}{}
	return len(p), nil
}

func TestAProcessThatWillNotEndIsKilled(t *testing.T) {
	ready, cleaned := make(signal), false
	p, err := startProcess(t.Context(), command{
		path: "/bin/sh", args: []string{"-c", "trap '' TERM; echo ready; exec sleep 1000"},
		stdout: ready, stderr: io.Discard, grace: 50 * time.Millisecond,
		ended: func() error { cleaned = true; return nil },
	})
	require.NoError(t, err)
	<-ready
	require.NoError(t, p.stop())
	assert.True(t, cleaned)
}
