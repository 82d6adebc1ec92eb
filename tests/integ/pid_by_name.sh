# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# -p NAME: each process that is called so, by its comm or by its program's file; numbers and names may stand in one
# list. Never those who wait for uprobe, kernel threads, or those of others for one who is not root.
. "${0%/*}/lib.bash"

LONG=longer_than_a_comm_can_be # a comm has 15 letters
cp "$FIXTURES/hello" $LONG
ln -s $LONG nick
NAME=one start "$PWD/$LONG" one
NAME=two start "$PWD/$LONG" two
NAME=three start "$PWD/nick" three

traces() { # traces LIST WANTED...
	local list=$1
	shift
	trace -p "$list" --stats -d 0.001 -e "p:p/greet ./$LONG:greet"
	trace_done
	[ "$(last_stat processes)" = $# ] || fail "-p $list: not $# processes"
}
traces $LONG one two three
traces nick three
traces "$PID_one,nick" one three
traces "nick,$PID_three,nick" three
refused "^uprobe: error: no process is called '${LONG}s'; did you mean '$LONG'[?]\$" -p ${LONG}s p:libc:getenv
refused "^uprobe: error: no process is called 'nobody'\$" -p "$PID_one,nobody" p:libc:getenv
refused "no process is called 'kthreadd'" -p kthreadd p:libc:getenv

rm $LONG # who runs it is called so all the same
trace -p "$LONG" p:libc:exit
for name in one two three; do go $name; done
finish one && finish two && finish three
trace_done
expect_count 3 ' exit: '

# Who waits for uprobe is none of them; that is told.
cp "$(type -P bash)" waits_for_us
# shellcheck disable=SC2016
./waits_for_us -c '"$@"; exit $?' - "$UPROBE" -p waits_for_us p:libc:getenv > out.txt 2> err.txt
[ $? = 1 ] || fail "not refused"
grep -qx "uprobe: error: no process is called 'waits_for_us' but those that wait for uprobe: give its number" err.txt ||
	fail "not the reason"

[ "$(id -u)" = 0 ] || exit 0
another_user hello
NAME=root start "$FIX/hello"
UPROBE=$UPROBE_AS_USER refused "no process of yours is called 'hello'" -p hello p:libc:getenv
NAME=user start "$START_AS_USER" "$FIX/hello"
[ "$(yama_scope)" = 0 ] || skip "yama lets nobody else be traced"
UPROBE=$UPROBE_AS_USER trace -p hello -n 1 "p:$FIX/hello:greet"
go root && go user
finish root && finish user
trace_done
expect_count 1 ' greet: '
