# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What a process is, it is after it was traced: signal mask and actions, alternate
# stack, registers, rseq, errno, affinity, nice value; and its end is what it would
# have been, to its parent too. It is traced only while it is traced.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/state
same_state() { # same_state WHEN
	local line=
	go
	read -r -t "$TIMEOUT" line <&"$OUT_fix"
	[ "$line" = same ] || fail "$1: $line differs"
}
start state
same_state before
for mode in auto trap step auto trap step; do
	trace --stay --mode $mode -p "$PID" -e "p:s/work $F:work i=$ARG1" -e "r:s/ret $F:work"
	traced "$PID" || fail "it is not traced: this test shows nothing"
	wait_for out.txt ' ret: '
	trace_stop
	untraced "$PID"
	same_state "after --mode $mode"
done
# Killed, ubp leaves the handler that keeps it alive, and nothing else; the next one
# takes that away.
trace -p "$PID" -e "p:s/work $F:work i=$ARG1" -e "r:s/ret $F:work"
kill -KILL "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
untraced "$PID"
trace -p "$PID" -e "p:s/work $F:work i=$ARG1"
trace_stop
same_state "after ubp was killed"
echo end >&"$IN_fix"
finish

# How it ends. The parent here sees what waitpid() tells it.
n=0
for how in 0 7 "0 15" "0 6" "0 11"; do
	NAME=e$((++n))
	# shellcheck disable=SC2086
	start state $how
	trace -p "$PID" -e "p:s/work $F:work"
	[ $((n % 2)) = 0 ] && trace_stop
	eval "echo end >&\$IN_$NAME"
	wait "$PID" 2> /dev/null
	rc=$?
	[ -z "$UBP_PID" ] || trace_done
	sig=${how#* } want=${how% *}
	[ "$sig" = "$how" ] || want=$((128 + sig))
	[ $rc = $want ] || fail "'$how': it ended with $rc, not $want: $(cat $NAME.err)"
done
python3 - "$UPROBE" "$F" <<'PY' || fail "the wait status is another"
import os, resource, subprocess, sys
uprobe, f = sys.argv[1:]
# As much as is allowed: sudo's own limit is none.
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
def status(traced, sig):
    r, w = os.pipe()
    out_r, out_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(r, 0); os.dup2(out_w, 1); os.close(w)
        os.execl(f, f, "0", str(sig))
    os.close(r)
    assert os.read(out_r, 6) == b"ready\n"
    if traced:
        rr, rw = os.pipe()
        p = subprocess.Popen([uprobe, "--ready-fd", str(rw), "-p", str(pid), f + ":work"],
                             pass_fds=[rw], stdout=subprocess.DEVNULL)
        os.close(rw)
        assert os.read(rr, 6) == b"ready\n"
    os.write(w, b"end\n")
    st = os.waitpid(pid, 0)[1]
    if traced:
        p.wait()
    return os.WIFSIGNALED(st), os.WTERMSIG(st), os.WCOREDUMP(st)
for sig in (15, 6, 11, 3):
    want, got = status(False, sig), status(True, sig)
    if want != got:
        sys.exit(f"signal {sig}: {got}, untraced {want}")
PY
