# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A user's own program that made itself undumpable, and one that the user may run but
# not read or that gained rights: the refusal names what is missing. Root traces them.
. "${0%/*}/lib.bash"

another_user undumpable args_int
F=$FIX/undumpable
real=$UPROBE
start "$START_AS_USER" "$F"
UPROBE=$UPROBE_AS_USER
refused "^uprobe: error: no permission to trace process $PID: it is not dumpable.*CAP_SYS_PTRACE" -p "$PID" -e "p:u/secret $F:secret"
UPROBE=$real
trace -p "$PID" -e "p:u/secret $F:secret x=$ARG1:s32"
go
finish
trace_done
expect_count 3 ' secret: '

# Setuid: the ids are no longer the user's own.
cp "$FIXTURES/args_int" "$FIX/setuid_int"
chmod 4755 "$FIX/setuid_int"
start "$START_AS_USER" "$FIX/setuid_int"
if grep -q '^Uid:.*65534.*[[:space:]]0[[:space:]]' "/proc/$PID/status"; then
	UPROBE=$UPROBE_AS_USER
	refused "^uprobe: error: no permission to trace process $PID: it belongs to another user.*CAP_SYS_PTRACE" \
		-p "$PID" -e "p:u/area $FIX/args_int:area"
	UPROBE=$real
else
	echo "setuid programs do nothing here: $FIX is mounted nosuid"
fi
go
finish

# Without -p: passed over, with a word when nothing else is there.
start "$START_AS_USER" "$F"
"$UPROBE_AS_USER" -d 0.2 -e "p:u/secret $F:secret" > out.txt 2> err.txt || fail "-d: status $?"
grep -q '^uprobe: warning: .*may not be looked at.*CAP_SYS_PTRACE' err.txt || fail "no word about it"
untraced "$PID"
go
finish
