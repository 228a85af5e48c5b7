package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// branchy has one function per kind of branch that a profile does not show.
const branchy = `package p

func guard(n int) int {
	if n > 1 {
		n++
	}
	return n
}

func nothing(n int) {
	if n > 1 {
	}
}

func literal(n int) int {
	if func() bool { return n > 1 }() {
		n++
	}
	return n
}

func choose(n int) int {
	switch n {
	case 1:
		return 10
	case 2:
	}
	return n
}

func kind(x any) (n int) {
	switch x.(type) {
	case int:
		n = 1
	}
	return n
}

func otherwise(n int) int {
	if n > 1 {
		n++
	} else {
		n--
	}
	return n
}

func covered(n int) int {
	if n > 1 {
		return 1
	} else if n < 0 {
		return -1
	} else {
		n++
	}
	switch n {
	case 1:
		n++
	default:
		n--
	}
	return n
}
`

// profileOf runs the calls in a test of the source, with real counters.
func profileOf(t *testing.T, src, calls string) (file, profile string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"a.go":      src,
		"a_test.go": "package p\n\nimport \"testing\"\n\nfunc TestAll(*testing.T) {\n" + calls + "\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-covermode=atomic", "-coverprofile=cover.out", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	return filepath.Join(dir, "a.go"), filepath.Join(dir, "cover.out")
}

func TestABranchWithoutStatementsMustBeTakenToo(t *testing.T) {
	const complete = "covered(2); covered(-1); covered(0); covered(1)\n" +
		"guard(1); guard(2); nothing(1); nothing(2); literal(1); literal(2)\n" +
		"choose(1); choose(2); choose(3); kind(1); kind(2.0)\n" +
		"otherwise(1); otherwise(2)\n"
	never := func(call string) string {
		if !strings.Contains(complete, call) {
			t.Fatalf("no %s among the calls", call)
		}
		return strings.Replace(complete, call, "", 1)
	}
	cases := map[string]struct{ calls, failure string }{
		"all taken":                 {complete, ""},
		"never false":               {never("guard(1);"), "a.go:4.2: the condition was never false"},
		"never false, empty body":   {never("nothing(1);"), "a.go:11.2: the condition was never false"},
		"never true, empty body":    {never("nothing(2);"), "a.go:11.12: never ran"},
		"never false, with literal": {never("literal(1);"), "a.go:16.2: the condition was never false"},
		"no other value":            {never("choose(3);"), "a.go:23.2: in the tests a case always fitted"},
		"an empty case never":       {never("choose(2);"), "a.go:26.9: never ran"},
		"an else never":             {never("otherwise(1);"), "a.go:42.8: never ran"},
		"no other type":             {never("kind(2.0)"), "a.go:32.2: in the tests a case always fitted"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, profile := profileOf(t, branchy, c.calls)
			err := run(&strings.Builder{}, profile, []string{file})
			checkFailure(t, err, c.failure)
			if c.failure != "" && err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("one gap, but several complaints: %v", err)
			}
		})
	}
}
