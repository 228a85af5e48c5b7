package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/demo"
	"endpoint-breaker/internal/liveview"
	"endpoint-breaker/internal/plugintest"
)

func TestLeavingTheViewEndsTheDemoAsCtrlCDoes(t *testing.T) {
	leave := func(context.Context, *demo.Board) error { return liveview.ErrQuit }
	err := viewThenLog(leave, io.Discard, io.Discard)(t.Context(), nil)
	var coded interface{ ExitCode() int }
	require.ErrorAs(t, err, &coded)
	assert.Equal(t, interrupted, coded.ExitCode())
	require.EqualError(t, err, "interrupted")
}

// playUntil plays a demo for an audience until a line with that text is printed.
func playUntil(t *testing.T, text string, audience func(out io.Writer) demo.Audience) string {
	t.Helper()
	plugintest.Wasm(t)
	plan, err := demo.NewPlan(defaultScale)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &stopAt{text: text, stop: stop}
	_, err = demo.Run(ctx, demo.Options{Wasm: plugintest.Path(t), Plan: plan, Workers: 1, Rate: 10, Seed: 1, Audience: audience(out)})
	require.ErrorIs(t, err, context.Canceled)
	return out.String()
}

// stopAt collects what is written and stops at a text.
type stopAt struct {
	bytes.Buffer
	text string
	stop func()
}

func (w *stopAt) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.stop()
	}
	return n, err
}

func TestWhenTheViewFailsTheStoryGoesOnInPlainLines(t *testing.T) {
	var errOut bytes.Buffer
	broken := func(context.Context, *demo.Board) error { return errors.New("no cursor") }
	out := playUntil(t, "req/s", func(out io.Writer) demo.Audience { return viewThenLog(broken, out, &errOut) })
	assert.Contains(t, out, "three model servers behind http://127.0.0.1:")
	assert.Equal(t, "lab: plain lines, for the live view failed: no cursor\n", errOut.String())
}

func TestAScreenshotIsDrawnBesideThePlainLines(t *testing.T) {
	var picture bytes.Buffer
	playUntil(t, "req/s", func(out io.Writer) demo.Audience {
		return together(demo.Narrate(out), liveview.Screenshot(&picture))
	})
	assert.Contains(t, picture.String(), ">gpu-b</text>")
}

func TestTheLogIsLeftWhereTheViewWas(t *testing.T) {
	watch := func(context.Context, *demo.Board) error { return nil }
	out := playUntil(t, "about 22 s in all", func(out io.Writer) demo.Audience { return viewThenLog(watch, out, io.Discard) })
	assert.Equal(t, 1, strings.Count(out, "three model servers behind"))
}
