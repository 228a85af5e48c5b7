#!/bin/sh
# Sees to what the tests need beside Go modules: Go itself, a C compiler with its
# headers for the race detector, Python's pip to download other people's plugins,
# and a Redis server. Installs all but Go where it may (root on Debian), else says
# what is missing. Only the tests that want Redis can do without: they are skipped
# then, but not in CI.
set -eu

if ! command -v go >/dev/null; then
	echo "setup: Go 1.26 or later is needed: https://go.dev/dl/" >&2
	exit 1
fi
go version

compiles() {
	printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' |
		"$(go env CC)" -x c -o /dev/null - 2>/dev/null
}

has_pip() { python3 -m pip --version >/dev/null 2>&1; }

has_redis() { command -v redis-server >/dev/null; }

may_install() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

missing=
compiles || missing="gcc libc6-dev"
has_pip || missing="$missing python3-pip"
has_redis || missing="$missing redis-server"
if [ -n "$missing" ] && may_install; then
	apt-get update -qq
	# shellcheck disable=SC2086 # several names
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi

if ! compiles; then
	echo "setup: the race detector needs a C compiler: apt-get install gcc libc6-dev, or set CC" >&2
	exit 1
fi
echo "C compiler: $(go env CC)"
if ! has_pip; then
	echo "setup: the tests in foreign/ need python3 with pip: apt-get install python3-pip" >&2
	exit 1
fi
echo "pip: $(command -v python3) -m pip"
if has_redis; then
	echo "Redis: $(command -v redis-server)"
else
	echo "setup: some tests need a Redis server: apt-get install redis-server" >&2
fi
