package plugintest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Edit replaces a text that must be in the file of the plugin exactly once.
type Edit struct{ File, Old, New string }

// Spoiled builds the plugin from its sources with the edits made to copies of them, and returns
// the path of the binary, which is there as long as the test. The tags choose the gateway: ""
// is Higress, "envoy" a stock Envoy. It takes seconds, and half a minute where nothing was
// built before.
func Spoiled(tb testing.TB, tags string, edits ...Edit) string {
	tb.Helper()
	from, scratch := root(tb), tb.TempDir()
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": edited(tb, from, scratch, edits)})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	description, target := filepath.Join(scratch, "overlay.json"), filepath.Join(scratch, "spoiled.wasm")
	if err := os.WriteFile(description, overlay, 0o600); err != nil {
		tb.Fatalf("%v", err)
	}
	build := exec.CommandContext(tb.Context(), "go", "build", "-tags", tags, "-buildmode=c-shared", "-trimpath",
		"-ldflags=-s -w", "-overlay", description, "-o", target, ".")
	build.Dir = from
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, output)
	}
	return target
}

// edited writes the edited files to scratch and says which files they replace.
func edited(tb testing.TB, from, scratch string, edits []Edit) map[string]string {
	tb.Helper()
	replaced := map[string]string{}
	for _, e := range edits {
		original, copied := filepath.Join(from, e.File), filepath.Join(scratch, e.File)
		source := original
		if replaced[original] != "" {
			source = copied
		}
		text, err := os.ReadFile(source)
		if err != nil {
			tb.Fatalf("%v", err)
		}
		if n := strings.Count(string(text), e.Old); n != 1 {
			tb.Fatalf("this edit does not fit %s any more, it would change %d places: %s", e.File, n, e.Old)
		}
		if err := os.WriteFile(copied, []byte(strings.Replace(string(text), e.Old, e.New, 1)), 0o600); err != nil {
			tb.Fatalf("%v", err)
		}
		replaced[original] = copied
	}
	return replaced
}
