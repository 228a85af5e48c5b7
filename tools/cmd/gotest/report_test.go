package main

import (
	"strings"
	"testing"
)

const passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.002s\n"}
{"Action":"pass","Package":"p","Elapsed":0.002}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q","Elapsed":0}
`

const skipping = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: not today\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.002s\n"}
{"Action":"pass","Package":"p"}
`

const failing = `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: want 1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.003s\n"}
{"Action":"fail","Package":"p"}
`

// read feeds the events to a report and returns what it prints.
func read(t *testing.T, events string, noSkips bool) (string, error) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatalf("read: %v", err)
	}
	err := r.verdict(noSkips)
	return out.String(), err
}

func TestAPassingPackageShowsItsClosingLineOnly(t *testing.T) {
	got, err := read(t, passing, true)
	want := "ok  \tp\t0.002s\n?   \tq\t[no test files]\n1 passed, 0 failed, 0 skipped\n"
	if got != want || err != nil {
		t.Errorf("got %q, %v; want %q, no error", got, err, want)
	}
}

func TestAFailingPackageShowsFailedAndUnfinishedTests(t *testing.T) {
	got, _ := read(t, failing, true)
	want := "    a_test.go:5: want 1\n--- FAIL: TestA (0.00s)\npanic: test timed out\nFAIL\tp\t0.003s\n" +
		"1 passed, 1 failed, 0 skipped\n"
	if got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestASkipIsNamedAlways(t *testing.T) {
	got, err := read(t, skipping, false)
	if want := "  skipped: p TestA\n"; !strings.HasSuffix(got, want) || err != nil {
		t.Errorf("got %q, %v; want the end %q, no error", got, err, want)
	}
}

func TestASkipFailsWhereNoneIsAllowed(t *testing.T) {
	if _, err := read(t, skipping, true); err == nil {
		t.Error("no error for a skipped test")
	}
}

func TestNoTestAtAllIsAFailure(t *testing.T) {
	if _, err := read(t, "", false); err == nil {
		t.Error("no error although nothing ran")
	}
}

func TestWhatIsNoEventIsPassedOn(t *testing.T) {
	const notes = "go: cannot find main module\n" + `{"ImportPath":"p","Action":"build-output","Output":"x.go:1: broken\n"}` + "\n"
	got, _ := read(t, notes, false)
	want := "go: cannot find main module\nx.go:1: broken\n0 passed, 0 failed, 0 skipped\n"
	if got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestPackagesMustBeNamed(t *testing.T) {
	if err := run(nil, false); err == nil {
		t.Error("no error without packages")
	}
}
