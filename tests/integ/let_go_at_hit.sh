# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thread runs into a trap of ours just when its process, which was seen to be in the middle of nothing, is let go of: the function that it
# enters by that is told to return, too. A debugger stops uprobe at that moment.
. "${0%/*}/lib.bash"
have gdb
grep -q ' fuse' /proc/self/mounts && skip "a file system in user space is mounted here: such processes are traced all the time"

F=$FIXTURES/link_nonpie
export DEBUGINFOD_URLS=
# Others are not there in the processes that uprobe makes.
timeout 60 gdb -q -batch -ex 'break main' -ex run -ex 'hbreak main' -ex continue --args "$FIXTURES/exit_code" exit > hardware.txt 2>&1
grep -qi 'insert hardware\|no hardware\|insert breakpoint' hardware.txt && skip "no hardware breakpoints here: $(tail -n 1 hardware.txt)"
grep -q 'Hardware assisted breakpoint' hardware.txt || skip "no hardware breakpoints here: $(tail -n 1 hardware.txt)"
cat > stop.py <<'END'
import os
import time

import gdb

pid = int(os.environ["TARGET"])


def stops():
    """Is a thread of the target in a stop, for its tracer to see?"""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "t"


gdb.execute("set pagination off")
gdb.execute("break run_thread")
gdb.execute("run")
gdb.execute("delete")
gdb.execute("hbreak stand_alone_begin")
gdb.execute("continue")
if gdb.selected_inferior().pid and gdb.newest_frame().name() == "stand_alone_begin":
    with open("/dev/fd/7", "w", encoding="ascii") as f:
        f.write("go\n")
    until = time.monotonic() + 60
    while not stops() and time.monotonic() < until:
        time.sleep(0.01)
    with open("met", "w", encoding="ascii") as f:
        f.write(str(stops()))
    gdb.execute("delete")
    gdb.execute("continue")
END
printf '#!/bin/sh\nexec gdb -q -batch -x stop.py --args "%s" "$@" > gdb.txt\n' "$UPROBE" > traced
chmod +x traced
start link_nonpie
export TARGET=$PID
exec 7>&"$IN_fix"
UPROBE=./traced trace -o events.txt --stats -p "$PID" -e "p:l/area $F:area i=$ARG1:s32 s=+0($ARG2):string" -e "r:l/ret $F:area \$retval:s32"
trap 'cat gdb.txt; cleanup' EXIT
eventually test -e met
finish
trace_done
[ "$(cat met)" = True ] || fail "nobody stopped: $(cat gdb.txt)"
for want in '3 area: .* i=[123] s="four"$' '3 ret: .* arg1=(4|8|12)$'; do
	[ "$(grep -cE " ${want#* }" events.txt)" = "${want%% *}" ] || fail "not $want: $(cat events.txt err.txt)"
done
