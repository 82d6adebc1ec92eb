# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# make i386: ubp as a 32-bit program passes the unit tests of its pure parts, and traces 32-bit programs; 64-bit
# ones are refused.
. "${0%/*}/lib.bash"
. "${0%/*}/hardened.bash"
need_arch x86_64
B=$(realpath --relative-to="$UBP_SRC" "$UBP_BUILD")
units='clock demangle duration dwarf_mutate expand_parse expr fetch fetch_values filter filter_value locate map maps notes num
	object object_code object_mutate object_window operand operand_text permission proc queue return_way ring ring_time seccomp
	sink_json sink_stack sink_text spec_names spec_pattern spec_table stack_memory sum symbolise untrusted usdt values
	values_parse var_expr x86_move x86_sigaction x86_slot'
goals=
for t in $units; do goals+=" $B-i386/tests/unit/test_$t"; done
echo 'int main(void) { return 0; }' > none.c
gcc -m32 -c none.c 2> /dev/null && [ -e "$(gcc -m32 -print-file-name=libgcc.a)" ] ||
	skip "needs gcc-12-multilib (gcc -m32)"
runs=yes
"$UBP_BUILD/fixtures32/exit_code" exit || runs=
root=$(cd "$UBP_SRC" && .ci/root.sh i386 libc6-dev 2> /dev/null) || skip "there are no 32-bit libraries to be had"
# As anybody builds it, in the long form; else uprobe alone. Where they can run, its unit tests.
for its in "$(long || echo "GOALS=$B-i386/uprobe")" ${runs:+"GOALS=$goals"}; do
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u GOALS make -C "$UBP_SRC" -j2 --no-print-directory B="$B" CFLAGS="$QUICK" i386 \
		${its:+"$its"} > build.txt 2>&1 ||
		fail "it does not build: $(grep -v '^  [A-Z]' build.txt | tail -n 20)"
done
linked_hard "$UBP_BUILD-i386/uprobe"
compiled_hard "$UBP_BUILD-i386/libengine.a" 'IBT, SHSTK' 'orl? +\$0x0,(0x[0-9a-f]+)?\(%esp\)'
[ -n "$runs" ] || skip "it builds; this kernel runs no 32-bit programs"
file -L "$UBP_BUILD-i386/uprobe" 2> /dev/null | grep -q 'ELF 64' && fail "that is no 32-bit program"
for t in $units; do
	FIXTURES=$FIXTURES "$UBP_BUILD-i386/tests/unit/test_$t" > unit.txt 2>&1 < /dev/null
	rc=$?
	[ $rc = 0 ] || [ $rc = 77 ] || fail "test_$t: $rc: $(grep -E 'ERROR|LINE|FAILED' unit.txt | head -n 20)"
done

UPROBE=$UBP_BUILD-i386/uprobe
gcc -m32 --sysroot="$root" -static -O1 -g -fno-inline -pthread -I"$UBP_SRC/fixtures" -o life "$UBP_SRC/fixtures/life.c" 2> cc.err ||
	fail "life: $(cat cc.err)"
F=$PWD/life
defs=(-e "p:l/work $F:work n=+4(%sp):s32 s=+0(+8(%sp)):string" -e "r:l/back $F:work r=\$retval:s32"
	-e "p:l/vars $F:outer n:s32")
for mode in auto trap step; do
	echo go | "$UPROBE" --mode $mode --stats -o out.txt "${defs[@]}" -- "$F" 2 > stdout.txt 2> err.txt ||
		fail "$mode: $?: $(cat err.txt)"
	[ "$(tail -n 1 stdout.txt)" = 'calls 144' ] || fail "it says '$(cat stdout.txt)'"
	# But for what a 64-bit shell starts.
	expect_count 142 ' work: '
	expect_count 142 ' back: .* r=[0-9]+$'
	expect_count 120 ' vars: .* n=[0-9]+$'
	expect_count 2 ' work: .* n=11 s="vfork"$'
	expect_count 4 ' work: .* n=12 s="child"$'
	grep -q ' unguarded=0 ' err.txt || fail "no guard: $(cat err.txt)"
done
echo go | "$UPROBE" -o out.txt -s "p:$F:work" -- "$F" 1 > stdout.txt 2> err.txt || fail "stacks: $?"
[ "$(grep -c '^ => outer+0x' out.txt)" = 60 ] || fail "stacks: $(head -n 30 out.txt)"

# Killed at work, and again.
start "$F"
text_of "$PID" "$F" clean
go
for _ in 1 2 3; do
	trace "${defs[@]}"
	wait_for out.txt ' back: '
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	alive "$PID"
done
trace "${defs[@]}"
wait_for err.txt 'taken out that a killed ubp had left'
wait_for out.txt ' back: '
trace_stop
untraced "$PID"
go
finish

# 64-bit programs: one clear line, and nothing happens to them.
refused 'is for x86_64: ubp traces no such programs on i386' "p:$FIXTURES/hello:greet"
start busy 2
refused "process $PID runs a program of a kind that this ubp does not trace" -p "$PID" "p:$F:work"
go
finish
