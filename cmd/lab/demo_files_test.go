package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"endpoint-breaker/internal/demo"
)

func TestAFileThatCannotBeWrittenIsToldBeforeTheStory(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a folder":            {[]string{"--out", folder}, "--out: open " + folder + ": is a directory"},
		"no name":             {[]string{"--out", ""}, "--out: the name of a file is missing"},
		"below a file":        {[]string{"--out", file + "/x.png"}, "--out: mkdir " + file + ": not a directory"},
		"where nothing is":    {[]string{"--out", "/proc/nope/x.png"}, "--out: mkdir /proc/nope: no such file or directory"},
		"a folder as the SVG": {[]string{"--out", file, "--screenshot", folder}, "--screenshot: open " + folder + ": is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runLab(t, append([]string{"demo", "--gateway", "embedded", "--wasm", "none.wasm"}, c.args...)...)
			require.EqualError(t, err, c.says)
			assert.Equal(t, failed, exitCode(err))
		})
	}
}

func TestTryingAFileLeavesItAsItWas(t *testing.T) {
	old, fresh := filepath.Join(t.TempDir(), "old.png"), filepath.Join(t.TempDir(), "new", "fresh.png")
	require.NoError(t, os.WriteFile(old, []byte("picture"), 0o600))
	require.NoError(t, writable(old))
	require.NoError(t, writable(fresh))
	content, err := os.ReadFile(old)
	require.NoError(t, err)
	assert.Equal(t, "picture", string(content))
	assert.NoFileExists(t, fresh)
	assert.DirExists(t, filepath.Dir(fresh))
}

func TestThePictureAndTheScreenshotAreWritten(t *testing.T) {
	flags := demoFlags{out: filepath.Join(t.TempDir(), "a.png"), screenshot: filepath.Join(t.TempDir(), "b.svg")}
	recording := &demo.Recording{Endpoints: []string{"a"}, End: time.Second}
	var out bytes.Buffer
	require.NoError(t, flags.draw(&out, recording, []byte("<svg/>")))
	assert.Equal(t, "\nThe picture is in "+flags.out+".\n", out.String())
	assert.FileExists(t, flags.out)
	view, err := os.ReadFile(flags.screenshot)
	require.NoError(t, err)
	assert.Equal(t, "<svg/>", string(view))

	flags.out = t.TempDir()
	require.ErrorContains(t, flags.draw(&out, recording, nil), "the picture: open ")
}

func TestAPictureThatFailsDoesNotHideTheVerdict(t *testing.T) {
	var out bytes.Buffer
	flags := demoFlags{out: t.TempDir()}
	err := flags.report(&out, &demo.Recording{Endpoints: []string{"a", "b"}, Slow: "b", End: time.Second}, nil)
	require.ErrorContains(t, err, "conditions that do not hold: 4, see the lines with ✗; the picture: open ")
	assert.Contains(t, out.String(), "✗ b was never blocked")
}
