#!/bin/sh
# Sees to what the tests need beside Go modules: Go itself, and a C compiler with
# its headers for the race detector. Installs the compiler where it may (root on
# Debian), else says what is missing.
set -eu

if ! command -v go >/dev/null; then
	echo "setup: Go 1.26 or later is needed: https://go.dev/dl/" >&2
	exit 1
fi
go version

compiles() {
	# CC may be several words, such as `ccache gcc`.
	# shellcheck disable=SC2046
	printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' |
		$(go env CC) -x c -o /dev/null - 2>/dev/null
}

if compiles; then
	echo "C compiler: $(go env CC)"
	exit 0
fi
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev
fi
if ! compiles; then
	echo "setup: the race detector needs a C compiler: apt-get install gcc libc6-dev, or set CC" >&2
	exit 1
fi
