#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# In a machine whose kernel lets nobody write to others' code by /proc/PID/mem:
# forbidden_writes.sh short|long
. "${0%/*}/lib.bash"

told "$(uname -r): what the kernel forbids"
python3 - <<'PY' || wrong "this kernel does not forbid it"
import errno, sys
lo = next(int(l.split("-")[0], 16) for l in open("/proc/self/maps") if " r-xp " in l)
with open("/proc/self/mem", "r+b", 0) as mem:
    mem.seek(lo)
    first = mem.read(8)
    mem.seek(lo)
    try:
        mem.write(first)
    except OSError as e:
        sys.exit(e.errno != errno.EIO)
sys.exit(1)
PY
if [ "$1" = short ]; then
	told "root"
	MODE=auto integ attach.sh tour.sh
fi
told "an ordinary user"
MODE=auto integ_as_user attach.sh
if [ "$1" = long ]; then
	told "root; an ordinary user, more"
	first() {
		integ attach.sh tour.sh several.sh no_jump.sh semaphore.sh killed.sh later.sh dlopen.sh blocked.sh
		export UBP_MODES=auto
		integ children.sh children_left.sh
	}
	second() {
		export UBP_MODES=auto # of what depends on no kernel
		integ jump_state.sh recursion.sh state.sh signals.sh leave.sh exec_thread.sh links.sh usdt_forms.sh \
			seccomp.sh forbidden_calls.sh
		integ_as_user tour.sh no_jump.sh command.sh
	}
	at_once first second
	told "the demo"
	docs/demo.sh || wrong "the demo"
fi
done_here
