# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# busybox's shell and its commands, one stripped program, mostly static: fork, vfork, exec of itself, pipes, signals.
# Its execve() is found by its bytes. BUSYBOX=PATH tries another one than that in PATH.
. "${0%/*}/lib.bash"
need_arch x86_64
in_modes auto trap
BB=${BUSYBOX:-$(command -v busybox)} || skip "needs busybox"

# Copies: nobody else has them mapped.
cp "$BB" busybox
BB=$PWD/busybox
file=$BB
if readelf -lW busybox | grep -q INTERP; then
	mkdir lib
	cp "$(ldd busybox | awk '$1 == "libc.so.6" { print $3 }')" lib/ || skip "no libc.so.6"
	export LD_LIBRARY_PATH=$PWD/lib
	file=$PWD/lib/libc.so.6
fi
# mov $59,%eax; syscall, where it stands once: the C library's function begins with it.
at=$(python3 - "$file" <<'PY'
import sys
data, call = open(sys.argv[1], "rb").read(), bytes.fromhex("b83b0000000f05")
print(hex(data.find(call)) if data.count(call) == 1 else "")
PY
)
[ -n "$at" ] || skip "this busybox has no execve() that can be told from the rest"
defs=(-e "p:b/exec $file:$at file=+0(%di):string arg1=+0(+8(%si)):string" -e "r:b/failed $file:$at r=\$retval:s64")

cat > script <<'END'
i=0
while [ $i -lt 10 ]; do
	i=$((i + 1))
	x=$(echo "$i" | cat | cat)
	[ "$x" = "$i" ] || exit 9
	(exit 3)
	[ $? = 3 ] || exit 8
	sh -c 'kill -TERM $$'
	[ $? = 143 ] || exit 7
done
/nowhere 2> /dev/null
[ $? = 127 ] || exit 6
trap 'echo trapped' USR1
kill -USR1 $$
time true 2> /dev/null
find . -name script -exec env echo {} \;
seq 1 5 | xargs -n 1 env echo | wc -l
echo done
END
"$BB" sh script > want.txt || fail "this busybox does not run the script: $?"
"$UPROBE" --stats --lossless -o out.txt "${defs[@]}" -- "$BB" sh script > stdout.txt 2> err.txt ||
	fail "ended with $?: $(cat err.txt stdout.txt)"
cmp want.txt stdout.txt || fail "another result: $(cat stdout.txt)"
grep -q ' unguarded=0 ' err.txt || fail "no guard: $(cat err.txt)"
[ "$(count ' exec: .* file="/nowhere"')" = 1 ] || fail "no /nowhere"
[ "$(count ' failed: .* r=-[0-9]+$')" -ge 1 ] || fail "what failed has not returned"
[ "$(count ' exec: .* arg1="-c"$')" = 10 ] || fail "not all shells"
[ "$(count ' exec: ')" -ge 25 ] || fail "not all commands"

# Killed while it is at work: the shell and its children go on.
cat > loop <<'END'
echo ready
read line
n=0
while [ ! -e enough ]; do
	x=$(sh -c 'echo word' | cat)
	[ "$x" = word ] || exit 9
	time true 2> /dev/null
	n=$((n + 1))
done
echo "rounds $n"
END
printf '#!/bin/sh\nexec %s sh %s/loop\n' "$BB" "$PWD" > looping
chmod 755 looping
start "$PWD/looping"
go
for _ in 1 2 3; do
	trace "${defs[@]}"
	wait_for out.txt ' exec: .* arg1="-c"'
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	alive "$PID"
done
trace "${defs[@]}"
wait_for err.txt 'taken out that a killed ubp had left'
wait_for out.txt ' exec: .* arg1="-c"'
: > enough
finish
case $LAST in "rounds "[1-9]*) ;; *) fail "it says '$LAST'" ;; esac
trace_stop
