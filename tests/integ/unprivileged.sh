# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# An ordinary user traces own processes, and is told what is missing for others'.
. "${0%/*}/lib.bash"

need_root
have setpriv
user=65534
as_user() { setpriv --reuid $user --regid $user --clear-groups --no-new-privs -- "$@"; }
# Where that user can read.
dir=$(mktemp -d) || fail "mktemp"
trap 'cleanup; rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$UPROBE" "$FIXTURES/args_int" "$dir/"
mkdir "$dir/w"
chown $user "$dir/w"
as_user "$dir/uprobe" --version > /dev/null 2>&1 || skip "that user cannot run programs here"
scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)

F=$dir/args_int
printf '#!/bin/sh\nexec setpriv --reuid %d --regid %d --clear-groups -- "$@"\n' $user $user > as_user
chmod 755 as_user
echo go | as_user "$dir/uprobe" -o "$dir/w/out" -e "p:u/area $F:area w=$ARG1:s32" -- "$F" > stdout.txt 2> err.txt ||
	fail "as a command: $?"
[ "$(count ' w=' "$dir/w/out")" = 3 ] || fail "as a command: no events"

if [ "$scope" = 0 ]; then
	start "$PWD/as_user" "$F"
	real=$UPROBE
	printf '#!/bin/sh\nexec setpriv --reuid %d --regid %d --clear-groups -- %s "$@"\n' $user $user "$dir/uprobe" > uprobe_as_user
	chmod 755 uprobe_as_user
	UPROBE=$PWD/uprobe_as_user
	trace -p "$PID" -e "p:u/area $F:area w=$ARG1:s32" -e "r:u/ret $F:area"
	go
	finish
	trace_done
	expect_count 3 ' w='
	UPROBE=$real
fi

# Root's process.
NAME=roots start "$F"
as_user "$dir/uprobe" -p "$PID_roots" -e "p:u/area $F:area" > out.txt 2> err.txt
[ $? = 1 ] || fail "root's process: not status 1"
grep -qE 'CAP_SYS_PTRACE|same user|not permitted' err.txt || fail "root's process: no advice"
[ "$(grep -c '^uprobe: ' err.txt)" = 1 ] || fail "root's process: not one message"
go roots
finish roots
