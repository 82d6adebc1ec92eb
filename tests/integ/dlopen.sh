# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A library that is opened, closed and opened again after uprobe attached.
. "${0%/*}/lib.bash"
in_modes auto trap

L=$FIXTURES/dlopen_plugin
defs=(-e "p:d/work $L:plugin_work x=$ARG1:s32 s=+0($ARG2):string" -e "r:d/ret $L:plugin_work \$retval:s32")
check() {
	local want='' x
	for x in 0 1 10 11 20 21; do want+="x=$x s=\"plugin\" "; done
	[ "$(events | sed -n 's/.* work: (0x[0-9a-f]*) //p' | tr '\n' ' ')" = "$want" ] ||
		fail "$1: events differ"
	expect_count 6 ' ret: '
}
start dlopen_user
trace -p "$PID" "${defs[@]}"
go
finish
trace_done
check attached

# Every process: one that opens the library is found a while later, and is seen to
# open it again from then on.
start dlopen_user say
go
read -r -t "$TIMEOUT" line <&"$OUT_fix"
text_of "$PID" "$L" before
go; go; go
finish
planted() { text_of "$PID" "$L" now && ! cmp -s before now; }
start dlopen_user say
trace "${defs[@]}"
go
for round in 1 2 3; do
	read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = open ] || fail "round $round: '$line'"
	eventually planted
	go
done
finish
trace_stop
check "every process"

echo go | "$UPROBE" -o out.txt "${defs[@]}" -- "$FIXTURES/dlopen_user" > stdout.txt 2> err.txt ||
	fail "as a command: $?"
check "as a command"
