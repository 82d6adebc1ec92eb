# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions of Go that do not check their stack have jumps, whose detours look for room: entries and returns as breakpoints tell them; at the very end
# of stacks, where there is no room; flags that somebody wants; under load, with a profiler's signals, while ubp comes and goes, and is killed.
. "${0%/*}/lib.bash"
need_arch x86_64
have go
have python3

cp -r "$UBP_SRC/fixtures/go_nosplit" nosplit || fail "cp"
export GOCACHE=$UBP_BUILD/go-cache GO111MODULE=off HOME=$PWD
(cd nosplit && command go build -o ../prog) || fail "cannot build"
OURS=(main.sum.abi0 main.product main.get main.plus.abi0 main.keepsFlags.abi0 main.below.abi0)
THEIRS=(runtime.cmpstring cmpbody runtime.strhash aeshashbody runtime.memmove runtime.typedmemmove indexbytebody runtime.memclrNoHeapPointers)

# stat_of NAME WORD: what --stats says in err.txt.
stat_of() { sed -nE "s/^.* t\/$1 (.* )?$2=([0-9]+).*/\2/p" err.txt; }

# --- the same as breakpoints tell, at the ends of stacks, too
DEFS=()
for name in "${OURS[@]}"; do
	short=${name#main.}
	short=${short%.abi0}
	DEFS+=(-e "p:t/$short ./prog:$name ax=%ax sp=%sp bp=%bp" -e "r:t/${short}_r ./prog:$name r=%ax:s64 cx=%cx sp=%sp")
done
DEFS+=(-e "p:t/word ./prog:main.word.abi0 sp=%sp cx=%cx" -e "r:t/word_r ./prog:main.word.abi0 r=%ax:s64 sp=%sp")
for mode in auto trap; do
	GOMAXPROCS=1 GOGC=off "$UPROBE" --buffer-size 16384 --stats --lossless --mode $mode -o out.txt "${DEFS[@]}" -- ./prog > stdout.txt 2> err.txt ||
		fail "$mode: ended with $?"
	[ "$(cat stdout.txt)" = "bad 0" ] || fail "$mode: it says '$(cat stdout.txt)'"
	# Where the heap, and stacks, are may differ, but not where in a page.
	events out.txt | sed -E -e 's/^.*[0-9]: //' -e 's/ ([sb]p|ax|cx)=0x[0-9a-f]*([0-9a-f]{2})\>/ \1=\2/g' > $mode.told
	[ $mode = trap ] || cp err.txt auto.err
done
[ "$(wc -l < trap.told)" -gt 50000 ] || fail "$(wc -l < trap.told) events"
diff trap.told auto.told > diff.txt || fail "not the same: $(head -n 6 diff.txt)"
cp auto.err err.txt
for name in sum product get; do
	[ "$(stat_of $name jumps)" = 1 ] || fail "$name is no jump: $(grep "t/$name" err.txt)"
	[ $name != get ] || continue
	has_rdfsbase || { echo "without rdfsbase: all hits of $name are stops"; continue; }
	n=$(stat_of $name stopped)
	[ "$n" -gt 0 ] || fail "$name: there was always room: $(grep "t/$name " err.txt)"
	[ "$n" -lt $(($(stat_of $name hits) / 10)) ] || fail "$name: there was mostly no room: $(grep "t/$name " err.txt)"
done
# Entry and return are told by one jump on the ret, behind the first instruction.
for name in word word_r; do [ "$(stat_of $name jumps)" = 1 ] || fail "$name is no jump: $(grep "t/$name " err.txt)"; done
[ "$(stat_of word behind)" = 1 ] || fail "word is not behind its first instruction: $(grep 't/word ' err.txt)"
# It asks for the flags that it is called with.
[ "$(stat_of plus jumps)" = 0 ] || fail "plus is a jump: $(grep "t/plus " err.txt)"

# Flags are for what it jumps to: no jump stands in place of that one.
[ "$(stat_of below_r jumps)" = 1 ] || fail "below leaves by $(stat_of below_r jumps) jumps: $(grep "t/below_r " err.txt)"

# --- what is refused: what saves flags, and what goroutines return to
"$UPROBE" --explain "p:t/x ./prog:runtime.asyncPreempt" > explain.txt 2>&1 || fail "asyncPreempt: $(cat explain.txt)"
grep -q 'not a jump' explain.txt || fail "asyncPreempt: $(cat explain.txt)"
# The compiler keeps flags over calls of it, and it sets none.
if command go tool nm prog | grep -q ' runtime\.duffzero$'; then
	"$UPROBE" --explain -e "p:t/x ./prog:runtime.duffzero" -e "r:t/y ./prog:runtime.duffzero" > explain.txt 2>&1 || fail "duffzero: $(cat explain.txt)"
	[ "$(grep -c 'not a jump: its Go function\|, at 0 of which' explain.txt)" = 2 ] || fail "duffzero: $(cat explain.txt)"
else
	echo "without duffzero()"
fi
# Its first instruction has one byte: no jump that replaces more may be there.
"$UPROBE" --explain "p:t/x ./prog:runtime.goexit" > explain.txt 2>&1 || fail "goexit: $(cat explain.txt)"
grep -q 'not a jump\|: jump (over 1 bytes' explain.txt || fail "goexit: $(cat explain.txt)"

# By the tables of Go 1.18 and later: assembly, and what the runtime has of its own.
for name in runtime.memmove cmpbody runtime.typedmemmove aeshashbody; do
	"$UPROBE" --explain "p:t/x ./prog:$name" > explain.txt 2>&1 || fail "$name: $(cat explain.txt)"
	grep -q ': jump (' explain.txt || fail "$name: $(cat explain.txt)"
done

# --- all functions at once: some stop it
rounds=12
! long || rounds=60
"$UPROBE" --stats -o /dev/null -e 'p:all/p ./prog:*' -e 'r:all/r ./prog:*' -- ./prog $rounds > stdout.txt 2> err.txt || fail "all: ended with $?: $(tail -n 3 err.txt)"
[ "$(cat stdout.txt)" = "bad 0" ] || fail "all: it says '$(cat stdout.txt)'"

# One that is loaded anywhere has other places that punned jumps lead to.
if ! long; then
	echo "PIE: in the long form (UBP_ALL=1)"
elif (cd nosplit && command go build -buildmode=pie -o ../prog-pie) > pie.txt 2>&1; then
	"$UPROBE" --stats -o /dev/null -e 'p:all/p ./prog-pie:*' -e 'r:all/r ./prog-pie:*' -- ./prog-pie $rounds > stdout.txt 2> err.txt || fail "pie: ended with $?: $(tail -n 3 err.txt)"
	[ "$(cat stdout.txt)" = "bad 0" ] || fail "pie: it says '$(cat stdout.txt)'"
else
	echo "without PIE: $(tail -n 1 pie.txt)"
fi

# --- under load: ubp comes and goes, and is killed
start "$PWD/prog" load
DEFS=()
for name in "${OURS[@]}" "${THEIRS[@]}"; do
	short=${name#*.}
	DEFS+=(-e "p:t/${short%.abi0} ./prog:$name sp=%sp")
done
DEFS+=(-e 'r:t/ret ./prog:cmpbody r=%ax' -e 'r:t/product_r ./prog:main.product r=%ax')
# They store right before they return, and fault there.
DEFS+=(-e 'r:t/moved ./prog:runtime.memmove' -e 'r:t/cleared ./prog:runtime.memclrNoHeapPointers')
# A function of one ret.
DEFS+=(-e 'p:t/barrier ./prog:runtime.publicationBarrier.abi0' -e 'r:t/barrier_r ./prog:runtime.publicationBarrier.abi0')
rounds=$(often 3)
for ((i = 0; i < rounds; i++)); do
	trace --stats -o events.txt "${DEFS[@]}" -p "$PID"
	for name in sum product get strhash memmove cmpbody ret moved barrier barrier_r; do wait_for events.txt " $name: "; done
	if [ $((i % 3)) = 2 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	else
		trace_stop
	fi
	alive
done
trace --stats -o events.txt "${DEFS[@]}" -p "$PID"
wait_for events.txt ' barrier: '
# Its place has too few bytes behind it for a jump that is made before it is known to be hot.
eventually is_jump "$PID" "$(sed -nE 's/^.* barrier: \((0x[0-9a-f]+)\).*/\1/p' events.txt | head -n 1)"
trace_stop
for name in barrier barrier_r; do [ "$(stat_of $name jumps)" = 1 ] || fail "$name is no jump: $(grep "t/$name " err.txt)"; done
# Killed for good: its jumps stand, and each goroutine ends its round by them, panics and all.
trace --stats -o events.txt "${DEFS[@]}" -p "$PID"
for name in get memmove cmpbody; do wait_for events.txt " $name: "; done
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
go
finish
[ "$LAST" = "bad 0" ] || fail "it says '$LAST'"
[ -s profile ] || fail "no profile"
