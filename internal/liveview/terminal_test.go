package liveview

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinesArePlainWithATerminalThatCanNotMoveItsCursorAndInCI(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"a terminal":      {map[string]string{"TERM": "xterm-256color"}, true},
		"without colours": {map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, true},
		"a dumb one":      {map[string]string{"TERM": "dumb"}, false},
		"an unknown one":  {map[string]string{}, false},
		"CI":              {map[string]string{"TERM": "xterm", "CI": "true"}, false},
		"CI, but empty":   {map[string]string{"TERM": "xterm", "CI": ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, wanted(func(key string) string { return c.env[key] }))
		})
	}
}

func TestWhatIsNoTerminalCanNotShowTheView(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, null.Close()) }()
	xterm := func(key string) string { return map[string]string{"TERM": "xterm"}[key] }
	assert.False(t, Possible(null, null, xterm), "a character device, but no terminal")
	assert.False(t, Possible(&bytes.Buffer{}, &bytes.Buffer{}, xterm))
}
