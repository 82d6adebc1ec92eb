# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions that have not returned when their thread or process ends, or executes a program, count as missed: so
# many, whether a breakpoint of the tracer's or a detour has replaced their return addresses. Traced all the time: of a process that
# nobody traces they are not known.
. "${0%/*}/lib.bash"
in_modes auto trap step
f=$FIXTURES/open_at_exit

# check WAY OPEN RETURNS STATUS
check() {
	local rc n=0 missed
	echo go | "$UPROBE" --stay --stats -o out.txt -e "r:k/outer $f:outer v=\$retval:s64" -e "r:k/inner $f:inner" \
		-- "$f" "$1" > said.txt 2> err.txt
	rc=$?
	[ $rc = "$4" ] || fail "$1: ended with $rc"
	while read -r missed; do n=$((n + missed)); done < \
		<(grep -aoE 'k/(outer|inner) .* missed=[0-9]+' err.txt | sed 's/.*missed=//')
	[ "$n" = "$2" ] || fail "$1: $n missed, not $2"
	expect_count "$3" ' (outer|inner): '
	[ "$MODE" != auto ] || slow || grep -qE 'k/outer .* jumps=[1-9]' err.txt || fail "$1: no jump"
}
check threads 6 400 0
check exit 6 300 0
check killed 6 300 137
check forked 2 202 0
check jumps 2 100 0
check execs 4 100 0
check others 6 200 0
check fails 0 102 0
