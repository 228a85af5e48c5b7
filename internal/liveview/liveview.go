// Package liveview shows a demo on a terminal while it is played: one glance per tenth
// of a second at the board that the plain lines are told from.
package liveview

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"endpoint-breaker/internal/demo"
)

// ErrQuit is the end of a view that somebody has left with q or Ctrl-C.
var ErrQuit = errors.New("interrupted")

// refresh is the time from one look at the board to the next.
const refresh = 100 * time.Millisecond

// Terminal is where the view is shown.
type Terminal struct {
	In  io.Reader // the keys
	Out io.Writer
	Env []string // as os.Environ; NO_COLOR, TERM and COLORTERM decide the colours
}

// Show takes the whole screen until the story is over, and leaves the terminal as it
// was, with nothing of the view on it. The error is ErrQuit when somebody wants to leave;
// any other one means that this terminal cannot show the view.
func Show(t Terminal) demo.Audience {
	return func(ctx context.Context, board *demo.Board) error {
		return show(ctx, t, board.State)
	}
}

func show(ctx context.Context, t Terminal, read func() demo.State) error {
	program := tea.NewProgram(
		newModel(read),
		tea.WithInput(t.In), tea.WithOutput(t.Out), tea.WithEnvironment(t.Env),
		tea.WithWindowSize(minWidth, minHeight), // until the terminal has told its own
		tea.WithoutSignalHandler(),              // signals end the story, and that ends the view
	)
	stop := context.AfterFunc(ctx, program.Quit)
	defer stop()
	final, err := program.Run()
	if err != nil {
		return err
	}
	if m, ok := final.(model); ok && m.left {
		return ErrQuit
	}
	return nil
}
