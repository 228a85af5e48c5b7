package liveview

import (
	"io"

	"github.com/charmbracelet/x/term"
)

// Possible tells whether the view can and should be shown: keys come from a terminal and
// lines go to one that can move its cursor, and this is no CI job. getenv is os.Getenv.
func Possible(in io.Reader, out io.Writer, getenv func(string) string) bool {
	return isTerminal(in) && isTerminal(out) && wanted(getenv)
}

func wanted(getenv func(string) string) bool {
	kind := getenv("TERM")
	return kind != "" && kind != "dumb" && getenv("CI") == ""
}

func isTerminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(file.Fd())
}
