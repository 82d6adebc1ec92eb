# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Exceptions thrown through functions with return probes arrive where they should,
# destructors run, and the frames that do return are reported.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/cpp_app
defs=()
for f in outer middle thrower catcher rethrower c_entry; do
	defs+=(-e "p:x/$f $F:$f n=$ARG1:s64" -e "r:x/${f}_ret $F:$f \$retval:s64")
done
start cpp_app
plain=$("$FIXTURES/cpp_app" <<< go | tail -n 1)
trace --stats -p "$PID" "${defs[@]}"
go
finish
trace_done
[ "$LAST" = "$plain" ] || fail "it says '$LAST', not '$plain'"
expect_count 40 ' thrower: '
expect_count 20 ' thrower_ret: ' # even numbers
expect_count 20 ' middle_ret: '
expect_count 20 ' catcher_ret: ' # always returns
expect_count 10 ' rethrower_ret: '
expect_count 20 ' c_entry_ret: '
[ "$(count ' outer: ')" = 240 ] || fail "$(count ' outer: ') calls of outer, not 240"

# A forked child throws through a frame that its parent entered.
"$UPROBE" -o out.txt -e "r:x/forker $F:forker" -- "$F" <<< go > stdout.txt 2> err.txt ||
	fail "with a child that throws: $?"
expect_count 1 ' forker: '
