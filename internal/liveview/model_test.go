package liveview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/demo"
)

func recorded(t *testing.T) model {
	t.Helper()
	return newModel(func() demo.State { return story(t, 3*time.Second) })
}

func TestAFrameReplacesTheStateAndAsksForTheNext(t *testing.T) {
	m := recorded(t)
	next, cmd := m.Update(frame(story(t, 14*time.Second)))
	assert.Equal(t, 14*time.Second, next.(model).state.At)
	require.NotNil(t, cmd)
	assert.Equal(t, frame(story(t, 3*time.Second)), cmd(), "it is read from the board")
	assert.Contains(t, next.View().Content, "blocked")
	assert.True(t, next.View().AltScreen)
}

func TestTheViewHasTheSizeOfTheTerminal(t *testing.T) {
	next, cmd := recorded(t).Update(tea.WindowSizeMsg{Width: 133, Height: 7})
	assert.Nil(t, cmd)
	assert.Equal(t, 133, next.(model).width)
	assert.Equal(t, 7, next.(model).height)
}

func TestOnlyQAndCtrlCLeave(t *testing.T) {
	for _, key := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		next, cmd := recorded(t).Update(key)
		assert.True(t, next.(model).left)
		require.NotNil(t, cmd)
		assert.Equal(t, tea.QuitMsg{}, cmd())
	}
	for _, key := range []tea.KeyPressMsg{{Code: 'c', Text: "c"}, {Code: tea.KeyEnter}, {Code: tea.KeyEscape}} {
		next, cmd := recorded(t).Update(key)
		assert.False(t, next.(model).left)
		assert.Nil(t, cmd)
	}
}

// patience is how many frames a view may take to end.
const patience = 30

// shown runs the view until the story or a key ends it.
func shown(t *testing.T, env []string, typed string, frames int32) (out string, err error) {
	t.Helper()
	keys, typing, err := os.Pipe()
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(keys.Close(), typing.Close())) }()
	ctx, over := context.WithCancel(t.Context())
	defer over()
	var looks atomic.Int32
	var screen bytes.Buffer
	err = show(ctx, Terminal{In: keys, Out: &screen, Env: env}, func() demo.State {
		look := looks.Add(1)
		if look > frames+patience {
			panic("nothing ends the view")
		}
		if look == frames {
			if _, err := io.WriteString(typing, typed); err != nil || typed == "" {
				over()
			}
		}
		return story(t, 14*time.Second)
	})
	return screen.String(), err
}

func TestTheEndOfTheStoryEndsTheViewAndLeavesTheTerminalAsItWas(t *testing.T) {
	out, err := shown(t, []string{"TERM=xterm-256color"}, "", 3)
	require.NoError(t, err)
	const enter, leave, hide, unhide = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"
	assert.Contains(t, out, enter)
	assert.Contains(t, out, "gpu-b")
	assert.Less(t, bytes.LastIndex([]byte(out), []byte(enter)), bytes.LastIndex([]byte(out), []byte(leave)))
	assert.Less(t, bytes.LastIndex([]byte(out), []byte(hide)), bytes.LastIndex([]byte(out), []byte(unhide)))
}

func TestAKeyEndsTheViewWithErrQuit(t *testing.T) {
	for _, key := range []string{"q", "\x03"} {
		_, err := shown(t, []string{"TERM=xterm-256color"}, key, 3)
		require.ErrorIs(t, err, ErrQuit)
	}
}
