# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Jumps in 32-bit programs: what they record is what breakpoints do, and every call is recorded once:
# from threads and from signal handlers that interrupt detours anywhere, of functions that take
# arguments off the stack, too. A ubp that is killed leaves them harmless.
. "${0%/*}/lib.bash"

need_arch x86_64
F=${UBP_BUILD:?}/fixtures32/jumps
[ -x "$F" ] || skip "gcc cannot build for 32 bits (gcc-12-multilib)"
"$UBP_BUILD/fixtures32/exit_code" exit || skip "this kernel runs no 32-bit programs"
"$UPROBE" --explain -e "p:j/x $F:sees" > explain.txt 2> err.txt || fail "--explain: $(cat err.txt)"
grep -q ': jump' explain.txt || skip "no jumps here: $(cat explain.txt)"

SEES='c=+0(+4(%sp)):s8 h=+2(+4(%sp)):s16 hu=+2(+4(%sp)):u16 i=+4(+4(%sp)):s32 l=+8(+4(%sp)):s64
	lx=+8(+4(%sp)):x64 lb=+8(+4(%sp)):b17@20/64 b=+16(+4(%sp)):b3@0/32 m=+16(+4(%sp)):b9@3/32
	a=+20(+4(%sp)):s32[5] s=+0(+40(+4(%sp))):string ss=+44(+4(%sp)):string[2]
	next=+0(+40(+52(+4(%sp)))):string st=$stack2:s32 w=+12(%sp):x64'
SEES=$(tr -s '\n\t' ' ' <<< "$SEES")
RETS=(-e "r:j/gives $F:gives" -e "r:j/takes $F:takes_off v=\$retval:s32" -e "r:j/again $F:again v=\$retval:s32")

# 1. The same values as by breakpoints: no address in it differs from run to run but the stack's.
run() { # run OUT MODE THREADS ROUNDS ARG...
	local out=$1 mode=$2 n=$3 rounds=$4
	shift 4
	echo go | timeout "$TIMEOUT" "$UPROBE" --lossless --stats --mode "$mode" -o "$out" "$@" -- "$F" "$n" "$rounds" \
		> stdout.txt 2> err.txt || fail "--mode $mode: ended with $? $(cat err.txt)"
	handled=$(sed -n 's/^handled //p' stdout.txt)
}
values() { sed -nE 's/^.*: (\w+): \(0x[0-9a-f]+( <- 0x[0-9a-f]+)?\)/\1/p' "$1"; }
stat() { sed -nE "s/.* stats: .* j\/$1 .*\b$2=([0-9]+).*/\1/p" err.txt; }
for mode in jump trap; do
	run out.$mode $mode 1 40 -e "p:j/sees $F:sees $SEES" "${RETS[@]}"
	# As often as handlers came is another matter each time.
	values out.$mode | sort -u > values.$mode
	[ $mode = trap ] || for p in sees gives takes again; do
		[ "$(stat $p jumps)" = 1 ] || fail "$p is no jump: $(cat err.txt)"
	done
done
diff values.trap values.jump > diff.txt || fail "jumps tell $(cat diff.txt)"
grep -q 's="first of them" ss={"one","a longer name"} next="second"' values.jump || fail "strings: $(head -n 3 values.jump)"
grep -q 'c=-1 h=-300 hu=65236 i=-70000 l=20015998343868 lx=0x123456789abc lb=83303 b=5 m=300 a={1,-2,3,-4,5}' values.jump ||
	fail "numbers: $(grep sees values.jump | head -n 3)"

# 2. Every call, by threads and handlers, and a child: none twice, none lost.
R=20000
every() { # every MODE ARG...: of two threads
	local mode=$1 calls
	shift
	run out.txt "$mode" 2 $R "$@"
	calls=$((2 * R + handled + 100))
	for p in sees gives takes; do
		[ "$(count " $p: ")" = $calls ] || fail "$p: $(count " $p: ") of $calls calls, $handled in handlers: $(cat err.txt)"
	done
	[ "$handled" -gt 10 ] || fail "no signals: $handled"
}
every jump -e "p:j/sees $F:sees n=+8(%sp):s32 s=+0(+40(+4(%sp))):string" "${RETS[@]}"
[ "$(stat sees stopped)" -lt $R ] || fail "$(stat sees stopped) stops: $(cat err.txt)"
[ "$(stat gives stopped)" -lt $R ] || fail "$(stat gives stopped) stops: $(cat err.txt)"
every auto -e "p:j/sees $F:sees" "${RETS[@]}" -e "p:j/first $F:takes_off" -e "p:j/second $F:sees s=+0(+40(+4(%sp))):string"

# 3. Filters: as many as there are.
for filter in 'n == 7' 'w == 0x10000000007' 'w < 0x10000000008 && w >= 0x10000000007' 's ~ "*of them" && n == 7' \
	'n & 7 && n < 8 && !(n != 7)' 'l > 20015998343867 && n == 7'; do
	for mode in jump trap; do
		run out.$mode $mode 1 40 \
			-e "p:j/sees $F:sees n=+8(%sp):s32 w=+12(%sp):x64 l=+8(+4(%sp)):s64 s=+0(+40(+4(%sp))):string" \
			--filter "$filter"
		# Of 40 rounds and 100 of the child's one each, and one of each handler's.
		[ "$(count ' sees: ' out.$mode)" = $((2 + handled)) ] ||
			fail "--mode $mode, $filter: $(count ' sees: ' out.$mode) events, $handled handled"
	done
done

# 4. Stacks by frame pointers and durations.
run out.txt jump 1 40 -e "r:j/takes $F:takes_off d=\$duration:u64 v=\$retval:s32"
expect_count $((140 + handled)) ' takes: .* d=[1-9][0-9]* v='

# 5. Killed while jumps stand: the program goes on, and the next ubp takes the same places.
start "$F" 2 0
go
for i in 1 2 3; do
	trace --stats --mode jump -p "$PID" -e "p:j/sees $F:sees n=+8(%sp):s32" "${RETS[@]}"
	wait_for out.txt " sees: "
	kill -9 "$UBP_PID"
	wait "$UBP_PID"
	UBP_PID=
	alive
done
trace --stats --mode jump -p "$PID" -e "p:j/sees $F:sees n=+8(%sp):s32" "${RETS[@]}"
wait_for out.txt " sees: "
trace_stop
alive
echo end >&"$IN_fix"
finish
