# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thread that does not stop keeps nobody waiting: its process is traced by breakpoints,
# and by jumps once all threads can be stopped.
. "${0%/*}/lib.bash"
need_arch x86_64
have python3

tell() { # tell LINE ANSWER
	local line
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = "$2" ] || fail "it says '$line', not '$2'"
}
is_jump() { # what stands at work() now?
	tell call called
	n=$((n + 1000))
	kill -0 "$UBP_PID" || fail "uprobe is gone"
	python3 -c 'import os, sys
fd = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
sys.exit(os.pread(fd, 1, int(sys.argv[2], 16)) != b"\xe9")' "$PID" "$addr"
}

F=$FIXTURES/stuck
start stuck
trace --stats --lossless -p "$PID" -e "p:s/work $F:work i=%di:s64"
n=0
for _ in 1 2 3; do
	tell call called
	n=$((n + 1000))
done
addr=$(wait_for out.txt ' work: ' && events | sed -n '1s/.*(\(0x[0-9a-f]*\)).*/\1/p')
is_jump && fail "a jump was written although a thread could not be stopped"
tell end born
eventually is_jump
echo quit >&"$IN_fix"
finish
trace_done
[ "$(count ' work: ')" = "$n" ] || fail "$(count) events of $n"
grep -q ' s/work hits='$n' .* jumps=1 ' err.txt || fail "other statistics than expected"
