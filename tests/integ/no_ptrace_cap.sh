# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Root without CAP_SYS_PTRACE, as in most containers: may trace root's own processes,
# and is told what is missing for those of others.
. "${0%/*}/lib.bash"

another_user args_int
have capsh
[ "$(yama_scope)" = 0 ] || skip "yama lets nobody attach to a process that it did not start"
printf '#!/bin/sh\nexec capsh --drop=cap_sys_ptrace,cap_sys_admin -- -c '\''exec "$0" "$@"'\'' %s "$@"\n' "$UPROBE" > dropped
printf '#!/bin/sh\nexec capsh --drop=cap_sys_ptrace,cap_sys_admin -- -c '\''exec "$0" "$@"'\'' "$@"\n' > start_dropped
chmod 755 dropped start_dropped
real=$UPROBE UPROBE=$PWD/dropped
F=$FIX/args_int
NAME=theirs start "$START_AS_USER" "$F"
NAME=more start "$F"
NAME=same start "$PWD/start_dropped" "$F"
refused "^uprobe: error: no permission to trace process $PID_theirs: .*CAP_SYS_PTRACE" -p "$PID_theirs" -e "p:u/area $F:area"
# Full root has capabilities that this one has not.
refused "^uprobe: error: no permission to trace process $PID_more: .*CAP_SYS_PTRACE" -p "$PID_more" -e "p:u/area $F:area"
trace -p "$PID_same" -e "p:u/area $F:area w=$ARG1:s32"
go same
finish same
trace_done
expect_count 3 ' w='
go theirs
go more
finish theirs
finish more
UPROBE=$real
