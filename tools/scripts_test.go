// Package tools_test tests the scripts beside it: with stand-ins for the programs
// that they call, so that nothing is built, fuzzed or installed.
package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// workplace is a folder in which a script runs, with stand-ins first in its PATH.
type workplace struct {
	dir, bin string
}

func newWorkplace(t *testing.T) workplace {
	t.Helper()
	return workplace{dir: t.TempDir(), bin: t.TempDir()}
}

func (w workplace) file(t *testing.T, name, content string) {
	t.Helper()
	write(t, filepath.Join(w.dir, name), content, 0o600)
}

// program makes a stand-in out of a shell script.
func (w workplace) program(t *testing.T, name, script string) {
	t.Helper()
	write(t, filepath.Join(w.bin, name), "#!/bin/sh\n"+script+"\n", 0o700)
}

func write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// run returns all that the script printed and whether it succeeded.
func (w workplace) run(t *testing.T, script string, args ...string) (output string, ok bool) {
	t.Helper()
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	// Seen by go's test cache, which must not outlive a change of the script.
	if _, err := os.Stat(script); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+w.bin+":"+os.Getenv("PATH"), "MAKE=make", "MAKEFLAGS=", "CC="+filepath.Join(w.bin, "cc"))
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func contains(t *testing.T, output string, wanted ...string) {
	t.Helper()
	for _, text := range wanted {
		if !strings.Contains(output, text) {
			t.Errorf("%q is missing in:\n%s", text, output)
		}
	}
}

const steps = "good:\n\t@echo good ran\nbad:\n\t@false\nnever:\n\t@echo never ran\n"

func TestStepsEndWithATableOfTimes(t *testing.T) {
	w := newWorkplace(t)
	w.file(t, "Makefile", steps)
	output, ok := w.run(t, "steps.sh", "good", "never")
	if !ok {
		t.Error("failed although every step succeeded")
	}
	_, table, _ := strings.Cut(output, "What took how long\n")
	want := regexp.MustCompile(`^  good +\d+ s  ok\n  never +\d+ s  ok\n  total +\d+ s\n$`)
	if !want.MatchString(table) {
		t.Errorf("got the table\n%s\nwant %s", table, want)
	}
}

func TestStepsStopAtTheFirstFailure(t *testing.T) {
	w := newWorkplace(t)
	w.file(t, "Makefile", steps)
	output, ok := w.run(t, "steps.sh", "good", "bad", "never")
	if ok {
		t.Error("succeeded although a step failed")
	}
	contains(t, output, "good ran", " s  FAILED\n", `Step "bad" failed; to run it alone: make bad`)
	if strings.Contains(output, "never ran") {
		t.Error("went on after the failure")
	}
}

const (
	fuzzed    = "echo 'fuzz: elapsed: 1s, execs: 10'"
	deadline  = fuzzed + "; echo '--- FAIL: FuzzA (1.00s)'; echo '    context deadline exceeded'"
	finding   = deadline + "; echo '    Failing input written to testdata/fuzz/FuzzA/1'"
	anyTarget = "package p\n\nfunc FuzzA(f *testing.F) {}\n"
)

func TestEveryFuzzTargetIsFuzzed(t *testing.T) {
	w := newWorkplace(t)
	w.file(t, "a_test.go", anyTarget+"\nfunc FuzzB2(f *testing.F) {}\n")
	w.file(t, "b/b_test.go", "package b\n\nfunc FuzzC(f *testing.F) {}\n")
	w.file(t, "tools/t_test.go", "package t\n\nfunc FuzzOther(f *testing.F) {}\n")
	w.program(t, "go", `echo "$*" >>calls; `+fuzzed)

	output, ok := w.run(t, "fuzz.sh", "1s")
	if !ok {
		t.Errorf("failed:\n%s", output)
	}
	calls, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "test -tags envoy -run=^$ -fuzz=^FuzzA$ -fuzztime=1s .\n" +
		"test -tags envoy -run=^$ -fuzz=^FuzzB2$ -fuzztime=1s .\n" +
		"test -tags envoy -run=^$ -fuzz=^FuzzC$ -fuzztime=1s ./b\n"
	if string(calls) != want {
		t.Errorf("go was called with\n%s\nwant\n%s", calls, want)
	}
}

func TestFuzzingFails(t *testing.T) {
	cases := map[string]struct {
		source, goScript string
		ok               bool
		output           string
	}{
		"when an input fails":               {anyTarget, finding + "; exit 1", false, "go test -tags envoy -run='^$' -fuzz='^FuzzA$' ."},
		"when the tests do not build":       {anyTarget, "echo 'undefined: x'; exit 1", false, "undefined: x"},
		"when there is nothing to fuzz":     {"package p\n", fuzzed, false, "no fuzz target found"},
		"not for the race at Go's deadline": {anyTarget, deadline + "; exit 1", true, "elapsed"},
		"not when nothing is found in time": {anyTarget, fuzzed, true, "elapsed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorkplace(t)
			w.file(t, "a_test.go", c.source)
			w.program(t, "go", c.goScript)
			output, ok := w.run(t, "fuzz.sh", "1s")
			if ok != c.ok {
				t.Errorf("success is %v; want %v:\n%s", ok, c.ok, output)
			}
			contains(t, output, c.output)
		})
	}
}

func TestSetupInstallsACompilerOnlyWhereItIsMissingAndAllowed(t *testing.T) {
	const (
		broken   = "exit 1"
		apt      = `echo "apt-get $*"; printf '#!/bin/sh\nexit 0\n' >"$(dirname "$0")/cc"`
		fakeRoot = "echo 0"
		nobody   = "echo 1000"
	)
	cases := map[string]struct {
		compiler, apt, id string
		ok                bool
		output            string
	}{
		"a compiler is there":      {"exit 0", broken, fakeRoot, true, "C compiler: "},
		"none, and root on Debian": {broken, apt, fakeRoot, true, "apt-get install"},
		"none, and not root":       {broken, apt, nobody, false, "needs a C compiler: apt-get install gcc libc6-dev"},
		"none, and apt-get fails":  {broken, broken, fakeRoot, false, ""},
		"none after installing it": {broken, "exit 0", fakeRoot, false, "needs a C compiler"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorkplace(t)
			w.program(t, "cc", c.compiler)
			w.program(t, "python3", "exit 0")
			w.program(t, "redis-server", "exit 0")
			w.program(t, "apt-get", c.apt)
			w.program(t, "id", c.id)
			output, ok := w.run(t, "setup.sh")
			if ok != c.ok {
				t.Errorf("success is %v; want %v:\n%s", ok, c.ok, output)
			}
			contains(t, output, c.output)
		})
	}
}

// Without pip the step wasm could not download the plugins for foreign/, minutes later.
func TestSetupInstallsPipOnlyWhereItIsMissingAndAllowed(t *testing.T) {
	const (
		broken = "exit 1"
		apt    = `echo "apt-get $*"; printf '#!/bin/sh\nexit 0\n' >"$(dirname "$0")/python3"`
		root   = "echo 0"
		nobody = "echo 1000"
	)
	cases := map[string]struct {
		python, apt, id string
		ok              bool
		output          string
	}{
		"pip is there":             {"exit 0", broken, root, true, "pip: "},
		"none, and root on Debian": {broken, apt, root, true, "apt-get install -y -qq --no-install-recommends python3-pip"},
		"none, and not root":       {broken, apt, nobody, false, "need python3 with pip: apt-get install python3-pip"},
		"none after installing it": {broken, "exit 0", root, false, "need python3 with pip"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorkplace(t)
			w.program(t, "cc", "exit 0")
			w.program(t, "redis-server", "exit 0")
			w.program(t, "python3", c.python)
			w.program(t, "apt-get", c.apt)
			w.program(t, "id", c.id)
			output, ok := w.run(t, "setup.sh")
			if ok != c.ok {
				t.Errorf("success is %v; want %v:\n%s", ok, c.ok, output)
			}
			contains(t, output, c.output)
		})
	}
}

// A Redis server is of use, but setup does not fail without one.
func TestSetupInstallsRedisOnlyWhereItIsMissingAndAllowed(t *testing.T) {
	const apt = `echo "apt-get $*"; : >"${0%/*}/redis-server"; /bin/chmod +x "${0%/*}/redis-server"`
	cases := map[string]struct {
		there  bool
		id     string
		output string
	}{
		"a server is there":        {true, "echo 0", "Redis: "},
		"none, and root on Debian": {false, "echo 0", "apt-get install -y -qq --no-install-recommends redis-server"},
		"none, and not root":       {false, "echo 1000", "need a Redis server: apt-get install redis-server"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorkplace(t)
			t.Setenv("PATH", w.bin) // the machine's own server is out of sight
			w.program(t, "go", `[ "$1" != env ] || echo cc`)
			w.program(t, "cc", "exit 0")
			w.program(t, "python3", "exit 0")
			w.program(t, "apt-get", apt)
			w.program(t, "id", c.id)
			if c.there {
				w.program(t, "redis-server", "exit 0")
			}
			output, ok := w.run(t, "setup.sh")
			if !ok {
				t.Errorf("failed:\n%s", output)
			}
			contains(t, output, c.output)
		})
	}
}
