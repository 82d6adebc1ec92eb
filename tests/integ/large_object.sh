# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# An object whose data take more room than a branch of some machines reaches: what matters is
# how far its code is from the copies.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/large
start large 50
trace --stats -p "$PID" -e "p:l/work $F:work i=$ARG1:s64" -e "r:l/ret $F:work v=\$retval:s64"
go
finish
trace_done
[ "$LAST" = "done" ] || fail "it says '$LAST'"
expect_count 50 ' work: '
expect_count 50 ' ret: '
