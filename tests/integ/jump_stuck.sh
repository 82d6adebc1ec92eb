# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thread that can't be stopped, asleep in the kernel, is in nobody's way: jumps are planted
# and taken out beside it.
. "${0%/*}/lib.bash"
need_arch x86_64 aarch64
have python3

tell() { # tell LINE ANSWER
	local line
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = "$2" ] || fail "it says '$line', not '$2'"
}
is_jump() { # what stands at work() now?
	tell call called
	n=$((n + 1000))
	python3 -c 'import os, sys
fd = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
code = os.pread(fd, 8, int(sys.argv[2], 16))
arm64 = os.uname().machine == "aarch64" # at the first instruction, or behind it
sys.exit(0x05 not in (code[3] >> 2, code[7] >> 2) if arm64 else code[0] != 0xe9)' "$PID" "$addr"
}

F=$FIXTURES/stuck
start stuck
trace --stats --lossless -p "$PID" -e "p:s/work $F:work i=$ARG1:s64"
n=0
for _ in 1 2 3; do
	tell call called
	n=$((n + 1000))
done
addr=$(wait_for out.txt ' work: ' && events | sed -n '1s/.*(\(0x[0-9a-f]*\)).*/\1/p')
eventually is_jump
trace_stop
alive
[ "$(count ' work: ')" = "$n" ] || fail "$(count) events of $n"
is_jump && fail "its jump was left behind"
tell end born
echo quit >&"$IN_fix"
finish
grep -q ' s/work hits=[0-9]* .* jumps=1 ' err.txt || fail "other statistics than expected"
