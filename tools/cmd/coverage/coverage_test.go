package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package p

func double(x int) int {
	return 2 * x
}

func half(x int) int {
	return x / 2
}
`

const (
	head       = "mode: atomic\n"
	doubleRan  = "m/a.go:3.24,5.2 1 3\n"
	doubleIdle = "m/a.go:3.24,5.2 1 0\n"
	halfRan    = "m/a.go:7.22,9.2 1 1\n"
)

// gate runs the command on one source file and one profile.
func gate(t *testing.T, src, profile string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file, cover := filepath.Join(dir, "a.go"), filepath.Join(dir, "cover.out")
	for name, content := range map[string]string{file: src, cover: profile} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := run(&out, cover, []string{file})
	return out.String(), err
}

func TestTheGate(t *testing.T) {
	cases := map[string]struct {
		src, profile string
		row, failure string
	}{
		"every statement ran":          {source, head + doubleRan + halfRan, "2 of    2 statements  100.0 %", ""},
		"a statement never ran":        {source, head + doubleIdle + halfRan, "1 of    2 statements   50.0 %", "a.go:3.24: never ran"},
		"the runs of two binaries add": {source, head + doubleIdle + halfRan + doubleRan, "2 of    2 statements  100.0 %", ""},
		"a file without statements":    {"package p\n", head, "0 of    0 statements  100.0 %", ""},
		"a file that is not built":     {source, head, "", "not in the profile"},
		"a file that does not parse":   {"pakage p", head, "", "parse"},
		"a profile without counts":     {source, "mode: set\n", "", "-covermode=atomic"},
		"a broken profile":             {source, "m/a.go:3.24", "", `row "m/a.go:3.24"`},
		"a profile of something else":  {source, "hello\n", "", "names no Go file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := gate(t, c.src, c.profile)
			if !strings.Contains(got, c.row) {
				t.Errorf("table %q lacks %q", got, c.row)
			}
			checkFailure(t, err, c.failure)
			if praise := strings.Contains(got, "every branch was taken"); praise != (err == nil) {
				t.Errorf("praise is %v in %q; the failure is %v", praise, got, err)
			}
		})
	}
}

// checkFailure wants an error with the text, none if the text is empty.
func checkFailure(t *testing.T, err error, text string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Errorf("unexpected failure: %v", err)
	case text != "" && (err == nil || !strings.Contains(err.Error(), text)):
		t.Errorf("got the failure %v; want one with %q", err, text)
	}
}

func TestTheGateNeedsFilesAndAProfile(t *testing.T) {
	if err := run(&strings.Builder{}, "cover.out", nil); err == nil {
		t.Error("no error without files")
	}
	if err := run(&strings.Builder{}, filepath.Join(t.TempDir(), "none"), []string{"a.go"}); err == nil {
		t.Error("no error without a profile")
	}
}
