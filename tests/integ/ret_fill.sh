# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Returns that are caught at ret instructions with fill behind them: jumps stand on these, and tell what breakpoints tell, and the kernel's uprobes. Where
# something leads into the fill there is none. Other probes at such a ret, signals that unwind, ubp that comes and goes and is killed.
. "${0%/*}/lib.bash"
need_arch x86_64
F=$FIXTURES/ret_fill
FUNCTIONS=(end_nops end_int3 end_long middle two_bytes one_byte by_branch by_name by_table by_pointer pops several several_led only_ret lead_ret tails short_tails)
# What follows is probed, too.
NEXT=(next_one next_two next_three next_long next_last)
# No fill for hops is near by.
FUNCTIONS+=("${NEXT[@]}" far_two far_one)
DEFS=()
for name in "${FUNCTIONS[@]}"; do DEFS+=(-e "r:t/$name $F:$name r=\$retval:s64 cx=%cx d=%r11 sp=%sp bp=%bp ip=%ip"); done
# Entries and returns, some of both at one place.
for name in only_ret lead_ret "${NEXT[@]}"; do DEFS+=(-e "p:t/${name}_p $F:$name a=%di:s64 sp=%sp bp=%bp ip=%ip"); done

# --- the same as breakpoints tell
for mode in auto trap; do
	echo go | setarch -R "$UPROBE" --stats --lossless --mode $mode -o out.txt "${DEFS[@]}" -- "$F" 4000 > stdout.txt 2> err.txt || fail "$mode: ended with $?"
	[ "$(tail -n 1 stdout.txt)" = "bad 0" ] || fail "$mode: it says '$(cat stdout.txt)'"
	events | sed -E 's/^.*[0-9]: //' > $mode.told
	cp err.txt $mode.err
done
[ "$(wc -l < trap.told)" = 122000 ] || fail "$(wc -l < trap.told) events"
cmp trap.told auto.told || fail "not the same"

# jumps NAME SITES JUMPS
jumps() { grep -q " t/$1 .* sites=$2 jumps=$3 " auto.err || fail "$1 has no $3 jumps: $(grep " t/$1 " auto.err)"; }
for name in end_nops end_int3 end_long pops "${NEXT[@]}"; do
	jumps $name 1 1
	! grep -q " t/$name .* stops=.*at_ret:" auto.err || fail "$name stops: $(grep " t/$name " auto.err)"
done
jumps middle 2 2
jumps several 2 2
# A return that is not seen is counted, by a jump, too.
jumps tails 2 2
jumps short_tails 2 2
for mode in auto trap; do
	[ "$(grep -c 'tails hits=2000 .* missed=2000 .* missed_tail_jump=2000 ' $mode.err)" = 2 ] || fail "$mode: $(grep 'tails ' $mode.err)"
done
! grep -q 'tails .* stops=.*at_ret:[0-9][0-9][0-9]' auto.err || fail "tails stops: $(grep 'tails ' auto.err)"
! grep -q ' t/several .* by_punned=[12]' auto.err || fail "several has a punned jump: $(grep ' t/several ' auto.err)"
for name in only_ret lead_ret; do
	jumps $name 1 1
	jumps ${name}_p 1 1
	! grep -q " t/$name.* stops=.*\(at_ret\|breakpoint\):[0-9][0-9][0-9]" auto.err || fail "$name stops: $(grep " t/$name" auto.err)"
done
# The first ret of each is in front of what is run: a short jump leads to fill near by. (Others may have none.)
for name in two_bytes one_byte by_branch by_table by_name by_pointer next_one; do
	[[ $name = next_* ]] || jumps $name 2 2
	grep -q " t/$name .* by_short=1" auto.err || fail "$name has no short jump: $(grep " t/$name " auto.err)"
	[[ $name = by_[!b]* ]] || ! grep -q " t/$name .* stops=.*at_ret:[0-9][0-9]" auto.err || fail "$name stops: $(grep " t/$name " auto.err)"
done
[ "$(grep -c ' t/next_[a-z]* .* by_short=1' auto.err)" -ge 3 ] || fail "few short jumps: $(grep ' t/next_' auto.err)"
# Where there is none: once such a ret is hot it has a punned jump, which leaves the bytes that are read as a part of it as they are.
for name in far_two far_one; do
	jumps $name 2 2
	grep -q " t/$name .* by_punned=[12]" auto.err || fail "$name has no punned jump: $(grep " t/$name " auto.err)"
done
"$UPROBE" --stats --lossless -o out.txt -e "r:t/far_two $F:far_two" -- "$F" 20 < <(echo go) > stdout.txt 2> err.txt || fail "ended with $?"
grep -q ' t/far_two .* jumps=1 .* no_jump="too few returns by the ret instruction for a jump of its kind"' err.txt || fail "it is not said why: $(cat err.txt)"
"$UPROBE" --explain -e "r:$F:middle" > out.txt || fail "--explain"
grep -q 'breakpoints on 2 ret instructions .*, at 2 of which, or right in front of them, jumps stand' out.txt || fail "$(cat out.txt)"
"$UPROBE" --beside-kernel --stats -o out.txt -e "r:t/middle $F:middle" -- "$F" < <(echo go) > stdout.txt 2> err.txt || fail "--beside-kernel: ended with $?"
grep -q ' t/middle hits=1000 .* jumps=0 ' err.txt || fail "--beside-kernel: $(cat err.txt)"

# --- with filters, stacks, and several probes on one function; and one at the ret
"$UPROBE" --lossless --stack=fp -o out.txt -e "r:t/middle $F:middle r=\$retval:s64" --filter 'r > 900' -e "r:t/again $F:middle" -- "$F" < <(echo go) > stdout.txt 2> err.txt ||
	fail "ended with $?"
expect_count 100 ' middle: '
expect_count 1000 ' again: '
[ "$(tail -n 1 stdout.txt)" = "bad 0" ] || fail "it says '$(cat stdout.txt)'"
have objdump
others=("r:t/again $F:middle")
# At each ret, in front of it, and where the branch behind the first one leads to: there a punned jump has its last bytes.
for name in middle two_bytes one_byte far_two far_one; do
	START=$(objdump -d --disassemble=$name "$F" | sed -nE "s/^([0-9a-f]+) <$name>:\$/\1/p")
	read -ra AT <<< "$(objdump -d --no-show-raw-insn --disassemble=$name "$F" | sed -nE 's/^.*\tjne +([0-9a-f]+) .*/\1/p; s/^ *([0-9a-f]+):\tret *$/\1/p' | tr '\n' ' ')"
	[ "${#AT[@]}" = 3 ] || fail "$name is not as it was"
	others+=("p:t/there $F:$name+$((16#${AT[1]} - 16#$START - 4))")
	for at in "${AT[@]}"; do
		at=$((16#$at - 16#$START))
		others+=("p:t/there $F:$name+$at")
		"$UPROBE" --lossless -o out.txt "${DEFS[@]}" -e "p:t/there $F:$name+$at" -- "$F" < <(echo go) > stdout.txt 2> err.txt || fail "$name+$at: ended with $?"
		[ "$(tail -n 1 stdout.txt)" = "bad 0" ] || fail "$name+$at: it says '$(cat stdout.txt)'"
		expect_count 1000 " $name: "
		expect_count 500 ' there: '
	done
done
START=$(objdump -d --disassemble=middle "$F" | sed -nE 's/^([0-9a-f]+) <middle>:$/\1/p')

# --- what the kernel tells
T=/sys/kernel/tracing
if [ "$(id -u)" = 0 ] && [ -w $T/uprobe_events ]; then
	off=$(objdump -h "$F" | sed -nE 's/^ *[0-9]+ \.text +[0-9a-f]+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) .*/\1 \2/p')
	read -r text_at text_off <<< "$off"
	kernel_done() {
		echo 0 > $T/events/ubpfill/enable
		echo '-:ubpfill/ret' >> $T/uprobe_events
	}
	if echo "r:ubpfill/ret $F:$((16#$START - 16#$text_at + 16#$text_off)) r=\$retval:s64 cx=%cx d=%r11 sp=%sp bp=%bp" >> $T/uprobe_events 2> /dev/null; then
		trap 'kernel_done; cleanup' EXIT
		mkdir "$T/instances/ubpfill$$" || fail "no instance of the kernel's tracer"
		echo 1 > "$T/instances/ubpfill$$/events/ubpfill/enable"
		echo go | setarch -R "$F" 4000 > stdout.txt
		echo 0 > "$T/instances/ubpfill$$/events/ubpfill/enable"
		sed -nE 's/^.*: ret: .* r=/r=/p' "$T/instances/ubpfill$$/trace" | sed -E 's/ sp=[^ ]*//' > kernel.txt
		rmdir "$T/instances/ubpfill$$"
		kernel_done
		trap cleanup EXIT
		sed -nE 's/^middle: .* (r=.*) ip=.*/\1/p' auto.told | sed -E 's/ sp=[^ ]*//' > ours.txt
		[ "$(wc -l < kernel.txt)" = 4000 ] || fail "the kernel has $(wc -l < kernel.txt) hits"
		cmp kernel.txt ours.txt || fail "the kernel tells other values"
	fi
fi

# --- signals come that unwind; ubp comes and goes, and is killed
rounds=$(often 6)
for ((i = 0; i < rounds; i++)); do
	NAME=f$i start "$F" 0 1 signals
	trace --stats -o events.txt "${DEFS[@]}" -p "$PID"
	go f$i
	wait_for events.txt ' pops: '
	if [ $((i % 2)) = 0 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	else
		trace_stop
	fi
	# The next one finds what that has left.
	trace -o again.txt "${DEFS[@]}" -p "$PID"
	wait_for again.txt ' pops: '
	go f$i
	finish f$i
	trace_done
	[ "$(count ' middle: ' again.txt)" -gt 0 ] || fail "round $i: the next one tells nothing"
	[ "$LAST" = "bad 0" ] || fail "round $i: it says '$LAST'"
done

# --- a debugger comes when ubp has been killed, and its jumps stand (at breakpoints gdb takes the signal for its own: let_go_traps.py): it stops at such
# functions, and steps through their ends
if command -v gdb > /dev/null; then
	NAME=gdb start "$F" 0 1
	ALL_JUMPS=()
	for name in end_nops end_int3 several only_ret lead_ret two_bytes next_two; do ALL_JUMPS+=(-e "r:t/$name $F:$name"); done
	for name in only_ret lead_ret; do ALL_JUMPS+=(-e "p:t/${name}_p $F:$name"); done
	trace --stats -o events.txt "${ALL_JUMPS[@]}" -p "$PID"
	go gdb
	wait_for events.txt ' lead_ret: '
	# At those rets whose jump is at the ret itself.
	base=$(awk -v f="$(readlink -f "$F")" '$6 == f { print "0x" substr($1, 1, index($1, "-") - 1); exit }' "/proc/$PID/maps")
	for at in $(objdump -d --no-show-raw-insn "$F" | sed -nE '/^[0-9a-f]+ <(end_nops|end_int3)>:$/,/^$/s/^ *([0-9a-f]+):\tret *$/\1/p
		s/^([0-9a-f]+) <(only)_ret>:$/\1/p'); do
		eventually is_jump "$PID" "$(printf '0x%x' $((base + 16#$at)))"
		at_jumps=$((${at_jumps:-0} + 1))
	done
	[ "$at_jumps" = 3 ] || fail "$at_jumps places"
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	gdb -nx -batch -p "$PID" -ex 'break several' -ex 'break only_ret' -ex 'break lead_ret' -ex 'break two_bytes' -ex continue -ex 'stepi 60' -ex continue -ex 'stepi 3' -ex finish \
		-ex continue -ex 'stepi 40' -ex continue -ex 'stepi 30' -ex delete -ex detach > gdb.txt 2>&1 || fail "gdb: $(tail -n 5 gdb.txt)"
	[ "$(grep -c '^Breakpoint [1234], ' gdb.txt)" -ge 4 ] || fail "gdb stopped elsewhere: $(cat gdb.txt)"
	alive
	go gdb
	finish gdb
	[ "$LAST" = "bad 0" ] || fail "under gdb it says '$LAST'"
else
	echo "without gdb"
fi

# --- probes come to the ret, and in front of it, and go, while the jump is there
# Where the program and its heap are decides whether a punned jump finds memory.
NAME=live start "$(command -v setarch)" -R "$F" 0 1
go live
for other in "${others[@]}"; do
	name=${other##*:} name=${name%+*}
	"$TOOLS/live_probes" "$PID" 2 "r:t/$name $F:$name" "$other" > out.txt 2> err.txt || fail "live_probes: $other: ended with $?: $(cat err.txt)"
	alive
done
go live
finish live
[ "$LAST" = "bad 0" ] || fail "it says '$LAST'"

# --- in children
"$UPROBE" --lossless -o out.txt -e "r:t/middle $F:middle" -- sh -c "echo go | $F; echo go | $F" > stdout.txt 2> err.txt || fail "ended with $?"
[ "$(grep -c '^bad 0$' stdout.txt)" = 2 ] || fail "they say '$(cat stdout.txt)'"
expect_count 2000 ' middle: '
