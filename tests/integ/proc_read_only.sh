# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where /proc/PID/mem may not be written, words are poked through a thread that is stopped:
# breakpoints, areas, jumps come and go, and a target survives that ubp is killed. A
# read-only /proc is such a place; ubp alone has it here, in a mount namespace.
. "${0%/*}/lib.bash"

need_root
have unshare
if [ -z "${MODE:-}" ]; then
	# shellcheck disable=SC2016 # for the inner shell
	printf '#!/bin/sh\nexec unshare -m sh -c '\''mount -o remount,bind,ro /proc && exec "$0" "$@"'\'' "$@"\n' > ro
	chmod 755 ro
	./ro sh -c ': > /proc/self/comm' 2>&1 | grep -q 'Read-only' || skip "/proc cannot be made read-only in a mount namespace here"
	printf '#!/bin/sh\nexec %s/ro %s "$@"\n' "$PWD" "$UPROBE" > uprobe_ro
	chmod 755 uprobe_ro
	UPROBE=$PWD/uprobe_ro
fi
in_modes auto trap

# Places of all kinds, while four threads run through some of them.
F=$FIXTURES/busy
defs=(-e "p:b/step $F:step a=$ARG1 s=+0($ARG2):string" -e "r:b/ret $F:step \$retval")
start busy "${BUSY:-4}"
text_of "$PID" "$F" clean
before=$(grep SigCgt "/proc/$PID/status")
for _ in 1 2; do
	trace -p "$PID" "${defs[@]}"
	wait_for out.txt ' ret: '
	text_of "$PID" "$F" changed
	cmp -s clean changed && fail "nothing was planted: nothing is shown by this"
	trace_stop
	text_of "$PID" "$F" now
	cmp clean now || fail "the code is not what it was"
	[ "$(grep SigCgt "/proc/$PID/status")" = "$before" ] || fail "signal actions are not what they were"
	untraced "$PID"
done
# Killed: what is left does no harm, and the next one takes it out.
trace -p "$PID" "${defs[@]}"
wait_for out.txt ' ret: '
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
alive
trace -p "$PID" "${defs[@]}"
wait_for err.txt "process $PID: [0-9]+ breakpoints? taken out that a killed ubp had left"
wait_for out.txt ' ret: '
trace_stop
text_of "$PID" "$F" now
cmp clean now || fail "the code is not what it was"
go
finish

# The tests of what else writes, and of what a stop could break off: words are poked alike in both modes, so each has half of them.
others=(blocked children)
[ "$MODE" = auto ] || others=(semaphore dlopen)
if long || [ -n "${UBP_MODES:-}" ]; then others=(blocked children semaphore dlopen); fi
for t in "${others[@]}"; do
	mkdir $t
	(cd $t && bash "${0%/*}/$t.sh" > out 2>&1) || { cat $t/out; fail "$t.sh fails so"; }
done
