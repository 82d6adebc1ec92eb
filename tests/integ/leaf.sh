# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Entries and returns of functions whose ret instructions have code right behind: the detour at the entry carries out a copy of the function, and tells its returns there. What is told is
# what breakpoints tell, and the kernel's uprobes; faults are where the program has them; signals come, children are born, other probes come into the function; ubp goes, or is killed, and a debugger comes, while a
# thread is in a loop of such a copy.
. "${0%/*}/lib.bash"
need_arch x86_64
F=$FIXTURES/leaf
# Those that have a copy, but for may_call and flags, whose rets may have jumps of their own.
COPIED=(number sum again copy spin fault)
COPY='who comes by the jump at its entry returns in a copy of it'
DEFS=()
for name in "${COPIED[@]}" may_call may_jump flags; do
	DEFS+=(-e "p:t/${name}_p $F:$name a=%di b=%si sp=%sp" -e "r:t/$name $F:$name r=\$retval cx=%cx si=%si sp=%sp bp=%bp ip=%ip")
done

# --- the same as breakpoints tell
commands() { printf '%s\n' 'once 3000' 'fault 400' 'once 1000' end; }
for mode in auto trap; do
	commands | setarch -R "$UPROBE" --stats --lossless --mode $mode -o out.txt "${DEFS[@]}" -- "$F" > stdout.txt 2> err.txt || fail "$mode: ended with $?: $(cat err.txt)"
	[ "$(echo $(cat stdout.txt))" = "ready called faulted called bye" ] || fail "$mode: it says '$(cat stdout.txt)'"
	# A pointer to a local variable may be elsewhere.
	events | sed -E 's/^.*[0-9]: //' > $mode.told
	cp err.txt $mode.err
done
[ "$(wc -l < trap.told)" -gt 100000 ] || fail "$(wc -l < trap.told) events"
cmp trap.told auto.told || fail "not the same"
for name in number sum again copy; do
	grep -q " t/$name .* no_jump=\"$COPY\"" auto.err || fail "$name has no copy: $(grep " t/$name " auto.err)"
	! grep -q " t/$name .* stops=.*at_ret:" auto.err || fail "$name stops: $(grep " t/$name " auto.err)"
done
# Behind a fault it goes on where it is.
grep -q " t/fault .* no_jump=\"$COPY\"" auto.err || fail "fault has no copy: $(grep ' t/fault ' auto.err)"

# --- what the kernel tells
T=/sys/kernel/tracing
if [ "$(id -u)" = 0 ] && [ -w $T/uprobe_events ]; then
	have objdump
	off=$(objdump -h "$F" | sed -nE 's/^ *[0-9]+ \.text +[0-9a-f]+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) .*/\1 \2/p')
	read -r text_at text_off <<< "$off"
	START=$(objdump -d --disassemble=sum "$F" | sed -nE 's/^([0-9a-f]+) <sum>:$/\1/p')
	kernel_done() {
		echo 0 > $T/events/ubpleaf/enable
		echo '-:ubpleaf/ret' >> $T/uprobe_events
	}
	if echo "r:ubpleaf/ret $F:$((16#$START - 16#$text_at + 16#$text_off)) r=\$retval cx=%cx si=%si" >> $T/uprobe_events 2> /dev/null; then
		trap 'kernel_done; cleanup' EXIT
		mkdir "$T/instances/ubpleaf$$" || fail "no instance of the kernel's tracer"
		echo 1 > "$T/instances/ubpleaf$$/events/ubpleaf/enable"
		commands | setarch -R "$F" > stdout.txt
		echo 0 > "$T/instances/ubpleaf$$/events/ubpleaf/enable"
		sed -nE 's/^.*: ret: .* (r=.*)$/\1/p' "$T/instances/ubpleaf$$/trace" | sed -E 's/ si=[^ ]*//' > kernel.txt
		rmdir "$T/instances/ubpleaf$$"
		kernel_done
		trap cleanup EXIT
		sed -nE 's/^sum: .* (r=[^ ]* cx=[^ ]*) .*/\1/p' auto.told > ours.txt
		[ "$(wc -l < kernel.txt)" = 8000 ] || fail "the kernel has $(wc -l < kernel.txt) hits"
		cmp kernel.txt ours.txt || fail "the kernel tells other values"
	fi
fi

# --- filters, stacks, several probes; one that is switched off by its own hit
"$UPROBE" --lossless --stack=fp -o out.txt -e "p:t/sum_p $F:sum" -e "r:t/sum $F:sum r=\$retval" --filter 'r < 100' -e "r:t/also $F:sum" -- "$F" < <(commands) > stdout.txt 2> err.txt || fail "ended with $?"
expect_count 8000 ' sum_p: '
expect_count 8000 ' also: '
expect_count "$(grep -cE '^sum: .* r=0x([0-9a-f]|[0-5][0-9a-f]|6[0-3]) ' trap.told)" ' sum: '
"$UPROBE" --beside-kernel --stats -o out.txt -e "p:t/number_p $F:number" -e "r:t/number $F:number" -- "$F" < <(commands) > stdout.txt 2> err.txt || fail "--beside-kernel: ended with $?"
! grep -q "$COPY" err.txt || fail "--beside-kernel has copies: $(cat err.txt)"

# --- signals all the time, and children that are born in such a copy, by a handler
for follow in '' --no-follow; do
	printf '%s\n' 'once 20000' 'fork 20' 'once 1000' end | "$UPROBE" --lossless $follow -o out.txt "${DEFS[@]}" -- "$F" signals > stdout.txt 2> err.txt || fail "signals: ended with $?: $(cat err.txt)"
	[ "$(echo $(cat stdout.txt))" = "ready called forked called bye" ] || fail "signals: it says '$(cat stdout.txt)'"
	for name in number sum copy may_call flags; do
		n=$(count " ${name}_p: ")
		[ "$n" -ge 21000 ] || fail "$name: $n entries"
		# A child may be born between the two.
		d=$((n - $(count " $name: ")))
		[ $d -ge -20 ] && [ $d -le 20 ] || fail "$name: $n entries, $d more than returns"
	done
done

# tell LINE ANSWER
tell() {
	local answer=
	echo "$1" >&"$fd_in"
	read -r -t "$TIMEOUT" answer <&"$fd_out" && [ "$answer" = "$2" ] || fail "$1: it says '$answer', not '$2'"
}
# at_number FUNCTION [OFFSET]: where it is in memory.
at_number() {
	local base
	base=$(awk -v f="$(readlink -f "$F")" '$6 == f { print "0x" substr($1, 1, index($1, "-") - 1); exit }' "/proc/$PID/maps")
	printf '0x%x' $((base + ${2:-0} + 16#$(objdump -d --disassemble=$1 "$F" | sed -nE "s/^([0-9a-f]+) <$1>:\$/\1/p")))
}

# --- other probes come into such a function, and go, while it is called: these are hit, and each entry has its return
have objdump
NAME=live start "$F"
read -r START RET _ <<< "$(objdump -d --no-show-raw-insn --disassemble=sum "$F" | sed -nE 's/^([0-9a-f]+) <sum>:$/\1/p; s/^ *([0-9a-f]+):\tret *$/\1/p' | tr '\n' ' ')"
session=leaf$$
ask() { "$UPROBE" --session=$session "$@" > asked.txt 2>&1 || fail "$*: $(cat asked.txt)"; }
trace --session=$session --lossless -o live.txt -e "p:t/sum_p $F:sum" -e "r:t/sum $F:sum" -p "$PID"
go live
for other in "p:t/middle $F:sum+14" "p:t/at_ret $F:sum+$((16#$RET - 16#$START))" "p:t/entry $F:sum" "r:t/return $F:sum r=\$retval"; do
	eventually is_jump "$PID" "$(at_number sum 2)"
	wait_for live.txt ' sum: '
	name=${other%% *} name=${name#*/}
	ask --add "$other"
	wait_for live.txt " $name: "
	ask --remove "t/$name"
done
tell '' called
read -r -t "$TIMEOUT" answer <&"$fd_out"
tell 'once 1000' called
trace_stop
tell bytes same
expect_live() { [ "$(count "$1" live.txt)" "$2" "$3" ] || fail "$(count "$1" live.txt) events match '$1', not $2 $3"; }
expect_live ' sum: ' -eq "$(count ' sum_p: ' live.txt)"
expect_live ' sum: ' -gt 2000
tell end bye
finish live

# --- ubp goes, or is killed, while a thread is in a loop of a copy; the next one comes
have objdump
start "$F" signals
rounds=$(often 4)
for ((i = 0; i < rounds; i++)); do
	trace --stats -o events.txt "${DEFS[@]}" -p "$PID"
	eventually is_jump "$PID" "$(at_number spin)"
	tell 'once 500' called
	tell spin spinning
	wait_for events.txt ' spin_p: '
	tell 'once 500' called
	if [ $((i % 2)) = 0 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		tell 'once 500' called
		[ $((i % 4)) = 0 ] || tell stop stopped
		trace -o again.txt "${DEFS[@]}" -p "$PID"
		tell 'once 500' called
		wait_for again.txt ' sum: '
	fi
	trace_stop
	tell bytes same
	[ $((i % 4)) = 2 ] || tell stop stopped
	tell 'once 500' called
done

tell end bye
finish

# --- who is in a copy that ubp has left, or was killed by, returns in it: nobody tells that, whatever has come since; and where the copy leads out to there is no jump
BRANCH=$(objdump -d --no-show-raw-insn --disassemble=out "$F" | sed -nE 's/^([0-9a-f]+) <out>:$/\1/p; s/^ *([0-9a-f]+):\tcmp +\$0x4d,%al$/\1/p' | tr '\n' ' ')
read -r START BRANCH _ <<< "$BRANCH"
BRANCH=$((16#$BRANCH - 16#$START))
NAME=fresh start "$F"
trace --stats -o events.txt -e "p:t/under $F:out+$BRANCH" -p "$PID"
eventually is_jump "$PID" "$(at_number out $((BRANCH + 2)))"
trace_stop
tell end bye
finish fresh
start "$F"
for ((i = 0; i < 4; i++)); do
	trace -o events.txt -e "p:t/out_p $F:out" -e "r:t/out $F:out" -p "$PID"
	eventually is_jump "$PID" "$(at_number out)"
	tell out spinning
	wait_for events.txt ' out_p: '
	if [ $((i % 2)) = 0 ]; then
		trace_stop
	else
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	fi
	trace --stats -o again.txt -e "p:t/first $F:spin" -e "r:t/second $F:spin" -e "p:t/under $F:out+$BRANCH" -p "$PID"
	eventually is_jump "$PID" "$(at_number spin)"
	if [ $((i / 2)) = 0 ]; then
		tell 'leave 77' stopped
	else
		tell 'leave 78' stopped
	fi
	# Who was in a copy when ubp ended goes on in the function.
	[ $((i % 2)) = 1 ] || wait_for again.txt ' under: '
	trace_stop
	! grep -E ' (first|second): ' again.txt || fail "round $i: what an old copy does is told"
	[ $((i % 2)) = 1 ] || continue
	! grep -E ' under: ' again.txt || fail "round $i: it is not in the copy"
	! grep ' t/under .* jumps=1' err.txt || fail "round $i: a jump where the old copy leads out to"
done
tell end bye
finish

# --- a debugger comes when ubp has been killed
start "$F" signals
if command -v gdb > /dev/null; then
	trace -o events.txt -e "p:t/spin_p $F:spin" -e "r:t/spin $F:spin" -e "p:t/number_p $F:number" -p "$PID"
	eventually is_jump "$PID" "$(at_number spin)"
	tell spin spinning
	wait_for events.txt ' spin_p: '
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	echo go >&"$fd_in"
	timeout "$TIMEOUT" gdb -nx -batch -p "$PID" -ex 'handle SIGALRM nostop noprint' -ex 'break sum' -ex 'break *(sum+14)' -ex 'info threads' -ex continue -ex continue -ex 'stepi 20' -ex delete -ex detach > gdb.txt 2>&1 || fail "gdb: $(tail -n 5 gdb.txt)"
	[ "$(grep -c '^Thread .* hit Breakpoint [12], ' gdb.txt)" -ge 2 ] || fail "gdb stopped elsewhere: $(cat gdb.txt)"
	tell '' called
	read -r -t "$TIMEOUT" answer <&"$fd_out" || :
	tell stop stopped
	trace -o events.txt "${DEFS[@]}" -p "$PID"
	tell 'once 500' called
	trace_stop
	tell bytes same
fi
tell end bye
finish
