# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Address space of a target: little is taken while it is traced, and less where a limit (RLIMIT_AS) leaves little;
# at the end all is given back but the guard's area and its page of data. What a killed uprobe leaves
# goes at the next end. Where a thread is, stays. ROUNDS: how often it may not grow (25).
. "${0%/*}/lib.bash"

F=$FIXTURES/room
ROUNDS=${ROUNDS:-$(often 25)}
defs=(-e "p:r/step $F:step i=$ARG1:s64" -e "r:r/ret $F:step \$retval:s64")

ask() { # ask LINE [ANSWER]
	local line
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = "${2:-done}" ] || fail "to '$1' it says '$line'"
}
ends() { exec {IN_fix}>&-; finish; }
lines() { wc -l < "/proc/$PID/maps"; }
size() { awk '/^VmSize/ { print $2 }' "/proc/$PID/status"; }
hit() { ask 'call 2000'; }
traced_round() { # traced_round MODE: attached, hit, left
	trace --mode "$1" --stats --lossless -p "$PID" "${defs[@]}"
	hit
	hit
	trace_stop
	[ "$(count ' step: ')" = 4000 ] && [ "$(count ' ret: ')" = 4000 ] || fail "--mode $1: events are missing"
}
# The thread that traces waits for a stop, and has nothing left to do.
waits() { grep -qs do_wait "/proc/$UBP_PID"/task/*/wchan; }
# only_the_guard WHEN: two mappings more than at the start, code and data, and little more room.
only_the_guard() {
	[ $(($(lines) - lines0)) = 2 ] || fail "$1: $(($(lines) - lines0)) mappings more: $(cat "/proc/$PID/maps")"
	[ $(($(size) - size0)) -le 128 ] || fail "$1: $(($(size) - size0)) kB more"
	! grep -q memfd:ubp "/proc/$PID/maps" || fail "$1: rings stay"
}

for mode in trap auto; do
	start room
	hit
	ask 'threads 2 1' # whatever it maps for threads is there
	lines0=$(lines) size0=$(size)
	traced_round $mode
	only_the_guard "--mode $mode"
	after=$(lines),$(size)
	for ((i = 0; i < ROUNDS; i++)); do
		trace --mode $mode -p "$PID" "${defs[@]}"
		hit
		trace_stop
	done
	[ "$(lines),$(size)" = "$after" ] || fail "--mode $mode: from $after to $(lines),$(size) in $ROUNDS rounds"

	# Killed: some megabytes at most, the same the second time, and no more of them when the next one ends.
	for i in 1 2 3; do
		trace --mode $mode --stats --lossless -p "$PID" "${defs[@]}"
		hit
		hit
		eventually waits
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		untraced "$PID"
		hit
		[ $(($(size) - size0)) -le 20000 ] || fail "--mode $mode, killed: $(($(size) - size0)) kB more"
		[ $i = 1 ] || [ "$(lines),$(size)" = "$killed" ] ||
			fail "--mode $mode, killed again: from $killed to $(lines),$(size)"
		killed=$(lines),$(size)
	done
	# What the killed one told of returns that were over would be taken for those of a stack that was moved away.
	ask deep
	trace --mode $mode -p "$PID" "${defs[@]}"
	trace_stop
	only_the_guard "--mode $mode, after kills, without a hit"
	traced_round $mode
	only_the_guard "--mode $mode, after kills"
	hit
	ends
done

# Threads that come later have rings, too: those are mapped as they are needed.
T=$(scaled 60)
start room
ask "threads $T 1"
lines0=$(lines) size0=$(size)
trace --stats --lossless -p "$PID" "${defs[@]}"
hit
hit
few=$(size)
[ $((few - size0)) -le 20000 ] || fail "$((few - size0)) kB for one thread"
ask "threads $T 500"
[ -n "${UBP_MODES:-}" ] || [ $(($(size) - few)) -ge $((T * 1024)) ] || fail "$(($(size) - few)) kB for $T threads"
[ $(($(size) - few)) -le $((4 * T * 1024)) ] || fail "$(($(size) - few)) kB for $T threads"
trace_stop
[ "$(count ' step: ')" = $((4000 + 500 * T)) ] && [ "$(count ' ret: ')" = $((4000 + 500 * T)) ] || fail "events are missing"
only_the_guard "$T threads"
ends

# Where a limit leaves little to a program, nearly all of that is still its own while it is traced, and after.
start room
ask 'threads 2 1'
prlimit --pid "$PID" --as=$((($(size) + 65536) * 1024)) || skip "no limits can be set"
ask 'take 52428800' taken
trace --stats --lossless -p "$PID" "${defs[@]}"
hit
hit
ask 'take 52428800' taken
ask "threads 8 100"
ask 'take 52428800' taken
trace_stop
grep -q ' r/step hits=4800 .* jumps=1 ' err.txt || [ -n "${UBP_MODES:-}" ] || fail "no jump under a limit: $(cat err.txt)"
ask 'take 62914560' taken
ends

# A thread waits in a system call that was displaced, and nobody wakes it: the area that it is in stays, and is
# given back when it is there no more.
need_arch x86_64
libc=$(awk '$6 ~ /libc\.so/ { print $6; exit }' /proc/self/maps)
read=$("$UPROBE" --check "p:$libc:read" | sed -E 's/.*:0x0*([0-9a-f]+)$/\1/')
code=$(od -An -v -tx1 -j $((16#$read)) -N 96 "$libc" | tr -d '\n')
calls=()
for ((at = 0; at < ${#code}; at += 3)); do
	[ "${code:at:6}" != ' 0f 05' ] || calls+=(-e "p:l/read$at $libc:read+$((at / 3))")
done
[ ${#calls[@]} != 0 ] || skip "no system call in read() of $libc"
start room spin
hit
lines0=$(lines) size0=$(size)
trace -p "$PID" -e "p:r/step $F:step" "${calls[@]}" # the first area is near the program
hit
wait_for out.txt ' read[0-9]*: ' # that read() is in the slot
trace_stop
[ $(($(lines) - lines0)) = 3 ] || fail "$(($(lines) - lines0)) mappings more where a thread is in one"
hit
traced_round auto
only_the_guard "once nobody is there"
ends
