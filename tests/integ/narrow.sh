# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where no free piece of memory near the code has room for all detours, they lie in several.
. "${0%/*}/lib.bash"

need_arch x86_64
have python3
have readelf
F=$FIXTURES/narrow
start narrow
trace --stats -p "$PID" -e "p:$F:f_*"

# The first and the last of them become jumps; which are between, --stats tells.
for name in f_0 f_8191; do
	at=$(readelf -sW "$F" | awk -v n=$name '$8 == n { print $2 }')
	base=$(awk -v f="$(readlink -f "$F")" '$6 == f { print $1; exit }' "/proc/$PID/maps")
	timeout "$TIMEOUT" python3 -c 'import os, sys, time
fd = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
at = int(sys.argv[2], 16) + int(sys.argv[3].split("-")[0], 16)
while 0xe9 not in os.pread(fd, 5, at):
	time.sleep(0.01)' "$PID" "$at" "$base" || fail "$name is no jump"
done
go
finish
trace_done
[ "$LAST" = "sum 8192" ] || fail "$LAST"
expect_count 8192 ' f_'
! grep -q 'no_jump="no free memory' err.txt || fail "no jumps: $(grep -c 'no_jump="no free memory' err.txt)"
