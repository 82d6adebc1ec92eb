# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Returns of Go functions, by jumps in front of the ret instructions: the same is told as by breakpoints on these, and by the kernel's uprobes; other
# probes in between; under load, with a profiler's signals, while ubp comes and goes, and is killed.
. "${0%/*}/lib.bash"
need_arch x86_64
have go
have objdump

cp "$UBP_SRC/fixtures/go_rets.go" rets.go || fail "cp"
export GOCACHE=$UBP_BUILD/go-cache GOFLAGS=-mod=mod HOME=$PWD
command go build -o rets rets.go || fail "cannot build"
FUNCTIONS=(small large text throws catches walks work deep)

# by FIELDS...: a return probe with these for each function, in DEFS.
by() {
	local name
	DEFS=()
	for name in "${FUNCTIONS[@]}"; do DEFS+=(-e "r:t/$name ./rets:main.$name $*"); done
}
# told FILE: what its events say, in their order, without who and when.
told() { events "$1" | sed -E 's/^.*[0-9]: //'; }

# --- the same as breakpoints tell. Only large() has a second result; where the heap and stacks are may differ, but not where in a page.
by 'r=$retval:s32 b=%bx:s32 sp=%sp bp=%bp ip=%ip'
for mode in auto trap; do
	GOMAXPROCS=1 GOGC=off "$UPROBE" --stats --lossless --mode $mode -o out.txt "${DEFS[@]}" -- ./rets > stdout.txt 2> err.txt ||
		fail "$mode: ended with $?"
	[ "$(cat stdout.txt)" = "bad 0" ] || fail "$mode: it says '$(cat stdout.txt)'"
	told out.txt | sed -E -e 's/^(text: .*) r=[^ ]* /\1 /' -e 's/ ([sb]p=)0x[0-9a-f]*([0-9a-f]{3})\>/ \1\2/g' -e '/^large:/! s/ b=[^ ]*//' > $mode.told
	cp err.txt $mode.err
done
[ "$(wc -l < trap.told)" -gt 1800 ] || fail "$(wc -l < trap.told) events"
diff trap.told auto.told > diff.txt || fail "not the same: $(head -n 6 diff.txt)"
for name in "${FUNCTIONS[@]}"; do
	line=$(grep " t/$name " auto.err)
	[ "$name" = deep ] || [[ $line =~ ' hits='[1-9] ]] || fail "no hits: $line"
	[[ $line =~ ' sites='([0-9]+)' jumps='([0-9]+) ]] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ] ||
		fail "not all are jumps: $line"
	# Without rdfsbase each hit of Go is a stop.
	! has_rdfsbase || { [[ $line =~ ' stopped='([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -lt 50 ]; } || fail "stops: $line"
done

# --- with filters, strings of what is pointed to, and stacks
"$UPROBE" --lossless -o out.txt -e 'r:t/text ./rets:main.text s=+0(%ax):string' -e 'r:t/large ./rets:main.large r=$retval:s64' --filter 'r > 100' \
	-- ./rets > stdout.txt 2> err.txt || fail "ended with $?"
expect_count 200 ' text: .* s="number [0-9]+'
n=$(grep -c '^large: .* r=[1-9][0-9][0-9]' trap.told)
[ "$n" != 0 ] || fail "none is as large"
"$UPROBE" --lossless --stack=fp -o out.txt -e 'r:t/small ./rets:main.small' -- ./rets > stdout.txt 2> err.txt || fail "ended with $?"
grep -q 'main.work' out.txt || fail "no stack leads to main.work"

# --- other probes in the run-up: on its first instruction, behind that, on the ret; and two on one function
read -ra AT <<< "$(objdump -d --no-show-raw-insn --disassemble=main.small rets | grep -B 2 -P '\tret' | sed -nE 's/^ *([0-9a-f]+):.*/\1/p' | head -n 3 | tr '\n' ' ')"
START=$(objdump -d --disassemble=main.small rets | sed -nE 's/^([0-9a-f]+) <main.small>:$/\1/p')
[ "${#AT[@]}" = 3 ] || fail "no ret in main.small"
by 'r=$retval:s64'
expected=$(grep -c '^small: ' trap.told)
for at in "${AT[@]}"; do
	at=$((16#$at - 16#$START))
	"$UPROBE" --lossless -o out.txt "${DEFS[@]}" -e "p:t/there ./rets:main.small+$at" -e 'r:t/again ./rets:main.small r=$retval:s64' -- ./rets > stdout.txt 2> err.txt ||
		fail "+$at: ended with $?"
	[ "$(cat stdout.txt)" = "bad 0" ] || fail "+$at: it says '$(cat stdout.txt)'"
	expect_count "$expected" ' small: '
	expect_count "$expected" ' again: '
	n=$(count ' there: ')
	[ "$n" -gt 0 ] && [ "$n" -lt "$expected" ] || fail "+$at: $n hits"
	THERE=$n
done

# --- what the kernel tells at the ret
T=/sys/kernel/tracing
if [ "$(id -u)" = 0 ] && [ -w $T/uprobe_events ]; then
	ret_off=$((16#${AT[2]} - 0x400000))
	kernel_done() {
		echo 0 > $T/events/ubpgo/enable
		echo '-:ubpgo/ret' >> $T/uprobe_events
	}
	if echo "p:ubpgo/ret $PWD/rets:$ret_off r=%ax:s64" >> $T/uprobe_events 2> /dev/null; then
		trap 'kernel_done; cleanup' EXIT
		mkdir "$T/instances/ubpgo$$" || fail "no instance of the kernel's tracer"
		echo 1 > "$T/instances/ubpgo$$/events/ubpgo/enable"
		./rets > stdout.txt
		echo 0 > "$T/instances/ubpgo$$/events/ubpgo/enable"
		sed -nE 's/^.*: ret: .* r=(.*)$/\1/p' "$T/instances/ubpgo$$/trace" > kernel.txt
		rmdir "$T/instances/ubpgo$$"
		kernel_done
		trap cleanup EXIT
		[ "$(wc -l < kernel.txt)" = "$THERE" ] || fail "the kernel has $(wc -l < kernel.txt) hits at the ret, we $THERE"
		"$UPROBE" --lossless -o out.txt -e 'r:t/small ./rets:main.small r=$retval:s64' -- ./rets > stdout.txt 2> err.txt
		told out.txt | sed -E 's/.* r=//' | grep -xFf <(sort -u kernel.txt) > ours.txt
		[ "$(sort ours.txt | uniq -c)" = "$(sort kernel.txt | uniq -c)" ] || fail "the kernel tells other values"
	fi
fi

# --- under load: ubp comes and goes, and is killed; goroutines are preempted everywhere
start "$PWD/rets" load
by 'r=$retval:s64'
rounds=$(often 6)
for ((i = 0; i < rounds; i++)); do
	trace --stats -o events.txt "${DEFS[@]}" -p "$PID"
	wait_for events.txt ' deep: '
	wait_for events.txt ' walks: '
	eventually grep -q . "/proc/$PID/stat"
	if [ $((i % 3)) = 2 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	else
		trace_stop
	fi
	alive
done
# Probes that come to the run-up, behind its start and to the ret, and go, while the jump is there.
others=("r:t/again ./rets:main.small")
for at in "${AT[@]}"; do others+=("p:t/there ./rets:main.small+$((16#$at - 16#$START))"); done
for other in "${others[@]}"; do
	"$TOOLS/live_probes" "$PID" 2 'r:t/small ./rets:main.small' "$other" > out.txt 2> err.txt || fail "live_probes: $other: ended with $?"
	alive
done
# What a killed one has left, and the others, is all out.
trace -o events.txt "${DEFS[@]}" -p "$PID"
wait_for events.txt ' deep: '
trace_stop
read -r text_at text_off text_len <<< "$(objdump -h rets | sed -nE 's/^ *[0-9]+ \.text +([0-9a-f]+) +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) .*/\2 \3 \1/p')"
pages=$((16#$text_len / 4096))
dd if="/proc/$PID/mem" bs=4096 skip=$((16#$text_at / 4096)) count=$pages of=text.mem 2> dd.err || fail "its code cannot be read: $(cat dd.err)"
dd if=rets bs=4096 skip=$((16#$text_off / 4096)) count=$pages of=text.file 2> dd.err || fail "$(cat dd.err)"
cmp text.mem text.file || fail "its code is not what it was"
go
finish
[ "$LAST" = "bad 0" ] || fail "it says '$LAST'"
[ -s profile ] || fail "no profile"

# --- in children
"$UPROBE" --lossless -o out.txt -e 'r:t/small ./rets:main.small r=$retval:s64' -- sh -c './rets; ./rets' > stdout.txt 2> err.txt || fail "ended with $?"
[ "$(cat stdout.txt)" = $'bad 0\nbad 0' ] || fail "they say '$(cat stdout.txt)'"
