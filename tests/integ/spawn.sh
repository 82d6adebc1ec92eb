# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions of a C library that run in a posix_spawn() child before its exec, with all
# signals blocked and all handlers reset. In glibc the guard sees to that: they can be
# probed, and children live also when ubp was killed. In musl they are refused, and
# planted with --force.
. "${0%/*}/lib.bash"
in_modes auto trap

libc=$(ldd /bin/sh | awk '$1 == "libc.so.6" { print $3 }')
[ -f "$libc" ] || skip "/bin/sh has no libc.so.6"
why='children of posix_spawn\(\).*--force'
F=$FIXTURES/fork_exec
defs=(-e "p:s/dup2 $libc:dup2" -e "p:s/mask $libc:sigprocmask" -e "p:s/act $libc:__libc_sigaction"
	-e "p:s/exec $libc:execve")

# Such children, with probes on all that runs in them: none is harmed.
for mode in spawn system; do
	echo go | "$UPROBE" -o out.txt "${defs[@]}" -e "p:f/work $F:work who=$ARG1:s32" \
		-- "$F" $mode > stdout.txt 2> err.txt || fail "$mode: status $?: $(cat err.txt)"
	[ "$(count ' exec: ')" -ge 1 ] || fail "$mode: no hit in the child"
	[ "$(count 'who=3$')" -ge 1 ] || fail "$mode: no hit in the new image"
done

# Nor is one that comes when nobody is there any more to take its traps.
cat > children.py <<'PY'
import os, sys
def run():
    pid = os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_DUP2, 1, 9)])
    return os.waitpid(pid, 0)[1], os.system("exit 3"), os.popen("echo word").read()
print("ready", flush=True)
for line in sys.stdin:
    print(*run(), end="", flush=True)
PY
NAME=py start "$(command -v python3)" children.py
for round in 1 2 3; do
	trace -p "$PID" "${defs[@]}"
	[ $round = 1 ] || kill -9 "$UBP_PID"
	[ $round != 3 ] || { wait "$UBP_PID" 2> /dev/null; UBP_PID=; }
	go py
	read -r -t "$TIMEOUT" line <&"$OUT_py" || fail "round $round: no answer"
	[ "$line" = "0 768 word" ] || fail "round $round: children ended with '$line'"
	if [ -n "$UBP_PID" ]; then
		[ $round != 1 ] || kill -INT "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	fi
done

[ "$(uname -m)" = x86_64 ] || exit 0 # the machines have no musl
musl=/lib/x86_64-linux-musl/libc.so
[ -f $musl ] || skip "the rest needs musl"
for f in close execve getenv; do
	refused "$why" --check "p:$musl:$f"
	"$UPROBE" --force --check "p:$musl:$f" > /dev/null || fail "$f: --force does not help"
done
"$UPROBE" --check "p:$musl:dup2" > /dev/null || fail "musl: dup2 does not run there"
