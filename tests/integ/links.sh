# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Static, non-PIE and static-PIE programs, and IFUNCs: attached and as a command.
. "${0%/*}/lib.bash"
in_modes auto trap

for f in link_static link_nonpie link_static_pie; do
	F=$FIXTURES/$f
	defs=(-e "p:l/area $F:area i=$ARG1:s32 s=+0($ARG2):string" -e "r:l/ret $F:area \$retval:s32")
	start $f
	trace --stats -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	# Wherever it lies, there is room for what detours need.
	[ "$MODE" = trap ] || grep -q ' l/area .* jumps=1 ' err.txt || fail "$f: no jump"
	expect_count 3 ' area: .* i=[123] s="four"$'
	expect_count 3 ' ret: .* arg1=(4|8|12)$'
	echo go | "$UPROBE" -o out.txt "${defs[@]}" -- "$F" > stdout.txt 2> err.txt ||
		fail "$f as a command: $?"
	expect_count 3 ' area: .* i=[123] s="four"$'
	expect_count 3 ' ret: .* arg1=(4|8|12)$'
	# Wherever it lies, there is room for what detours need.
	echo go | "$UPROBE" --stats -o out.txt "p:$F:area" -- "$F" > stdout.txt 2> err.txt
	[ "$MODE" = trap ] || grep -q ' jumps=1 ' err.txt || fail "$f: no jump"
done

# An IFUNC's name means what the program calls, not the resolver.
F=$FIXTURES/ifunc_user
start ifunc_user
trace -p "$PID" -e "p:i/pick $F:pick x=$ARG1:s32" -e "r:i/ret $F:pick \$retval:s32" \
	-e "p:i/fast $F:pick_fast" -e "p:i/slow $F:pick_slow"
go
finish
trace_done
expect_count 3 ' pick: .* x=[012]$'
expect_count 3 ' ret: .* arg1=[234]$'
expect_count 3 ' fast: '
expect_count 0 ' slow: '
# A 32-bit C library does not ask by that name itself: the program shows it, once it is bound.
LD_BIND_NOW=1 start ifunc_user
trace -p "$PID" "p:libc:strlen s=+0($ARG1):string"
go
finish
trace_done
[ "$(count 's="seventeen letters"$')" -ge 3 ] || fail "strlen by its IFUNC name: no calls seen"
