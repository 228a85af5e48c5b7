package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pip stands in for python3: it writes down how it is called, "downloads" a wheel, and "unpacks" two
// plugins out of it.
const pip = `echo "$*" >>"$CALLS"
case "$*" in
*"pip download"*)
	for last; do :; done
	cat "$last" >>"$CALLS"
	[ -z "${BROKEN-}" ] || exit 1
	: >"$(dirname "$last")/package.whl" ;;
*"zipfile -e"*)
	for name in one two; do
		mkdir -p "$5/gpustack_higress_plugins/plugins/$name/1.0"
		echo "$name" >"$5/gpustack_higress_plugins/plugins/$name/1.0/plugin.wasm"
	done ;;
esac`

func fetchWorkplace(t *testing.T) workplace {
	t.Helper()
	w := newWorkplace(t)
	t.Setenv("CALLS", filepath.Join(w.dir, "calls"))
	w.program(t, "python3", pip)
	return w
}

func TestForeignPluginsAreFetchedOnceByHashAndUnpacked(t *testing.T) {
	w := fetchWorkplace(t)
	output, ok := w.run(t, "foreign-plugins.sh", "cache")
	if !ok {
		t.Fatalf("failed:\n%s", output)
	}
	contains(t, output, "2 plugins in cache/0.5.1")
	for _, name := range []string{"one", "two"} {
		wasm, err := os.ReadFile(filepath.Join(w.dir, "cache", "0.5.1", name, "plugin.wasm"))
		if err != nil || strings.TrimSpace(string(wasm)) != name {
			t.Errorf("%s: got %q, %v", name, wasm, err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(calls), "--require-hashes", "--no-deps", "gpustack-higress-plugins==0.5.1 --hash=sha256:d233f22b")

	if output, ok := w.run(t, "foreign-plugins.sh", "cache"); !ok || output != "" {
		t.Errorf("the second time: success is %v; want no word:\n%s", ok, output)
	}
	again, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(calls) {
		t.Errorf("what is there was fetched again:\n%s", again)
	}
}

func TestAFailedDownloadLeavesNothingThatLooksComplete(t *testing.T) {
	w := fetchWorkplace(t)
	t.Setenv("BROKEN", "yes")
	if output, ok := w.run(t, "foreign-plugins.sh", "cache"); ok {
		t.Errorf("succeeded although pip failed:\n%s", output)
	}
	left, err := os.ReadDir(filepath.Join(w.dir, "cache"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWithoutPipOneLineSaysWhatIsNeeded(t *testing.T) {
	w := newWorkplace(t)
	w.program(t, "python3", "echo 'No module named pip' >&2; exit 1")
	output, ok := w.run(t, "foreign-plugins.sh", "cache")
	if ok || output != "foreign-plugins: python3 with pip is needed: apt-get install python3-pip\n" {
		t.Errorf("success is %v:\n%s", ok, output)
	}
}
