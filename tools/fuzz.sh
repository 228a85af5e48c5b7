#!/bin/sh
# Finds every fuzz target of the module and fuzzes one after the other, as
# `go test -fuzz` wants it. The tag envoy adds targets and takes none away.
#
#   tools/fuzz.sh 5s
set -eu

fuzztime=${1:?usage: tools/fuzz.sh DURATION, for each target, such as 5s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Lines of "folder target"; tools/ is a module of its own.
targets=$(grep -rHoE --include='*_test.go' --exclude-dir=tools '^func Fuzz[A-Za-z0-9_]*' . |
	sed -E 's|^(.*)/[^/]*:func (.*)$|\1 \2|' | sort)
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi

# At its deadline Go 1.26 may report "context deadline exceeded" although nothing
# was found (golang/go#75804). A finding writes its input to testdata/fuzz.
only_the_deadline() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input written to' "$log"
}

echo "$targets" | while read -r folder target; do
	echo "$folder $target for $fuzztime"
	if go test -tags envoy -run='^$' -fuzz="^$target\$" -fuzztime="$fuzztime" "$folder" >"$log" 2>&1 || only_the_deadline; then
		grep '^fuzz: elapsed' "$log" | tail -n 1
	else
		cat "$log"
		echo "fuzz: $target failed; to run it alone: go test -tags envoy -run='^\$' -fuzz='^$target\$' $folder" >&2
		exit 1
	fi
done
