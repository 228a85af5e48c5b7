#!/bin/sh
# Runs make targets one after the other and ends with a table of what took how
# long. Stops at the first target that fails.
#
#   tools/steps.sh build lint vet
set -u

make=${MAKE:-make}
table=$(mktemp)
trap 'rm -f "$table"' EXIT
begin=$(date +%s)
failed=

for step in "$@"; do
	printf '\n==> %s\n' "$step"
	from=$(date +%s)
	result=ok
	"$make" --no-print-directory "$step" || result=FAILED
	printf '  %-14s %5d s  %s\n' "$step" $(($(date +%s) - from)) "$result" >>"$table"
	if [ "$result" = FAILED ]; then
		failed=$step
		break
	fi
done

printf '\nWhat took how long\n'
cat "$table"
printf '  %-14s %5d s\n' total $(($(date +%s) - begin))

if [ -n "$failed" ]; then
	printf '\nStep "%s" failed; to run it alone: make %s\n' "$failed" "$failed"
	exit 1
fi
