# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A target that may map nothing more: probed all the same, or refused; never harmed.
. "${0%/*}/lib.bash"

have prlimit
F=$FIXTURES/busy
start busy 2
text_of "$PID" "$F" before
size=$(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$PID/status")
prlimit --pid "$PID" --as="$size" || skip "no limits can be set"
trace_start -p "$PID" -n 10 -e "p:b/step $F:step" -e "r:b/ret $F:step"
cat <&"$ready_fd" > ready.txt
exec {ready_fd}<&-
wait "$UBP_PID"
rc=$?
UBP_PID=
case $rc in
0) expect_count 10 . ;;
1) grep -qE '^uprobe: .*(memory|map)' err.txt || fail "no reason given" ;;
*) fail "status $rc" ;;
esac
text_of "$PID" "$F" after
cmp before after || fail "its code is not what it was"
untraced "$PID"
go
finish

# No room at all.
NAME=full start busy 1
prlimit --pid "$PID" --as=1:1
refused "^uprobe: error: process $PID cannot map memory: .*--force" -p "$PID" -e "p:b/step $F:step"
untraced "$PID"
go full
finish full

# With --force its instructions are stepped in place, by several threads at once.
NAME=forced start busy 2
prlimit --pid "$PID" --as=1:1
trace --force --stats -p "$PID" -n 200 -e "p:b/step $F:step"
trace_done
[ "$(count ' step: ')" = 200 ] || fail "not 200 events"
grep -q '^uprobe: warning: process .*SIGKILL' err.txt || fail "no warning"
grep -q 'in_place=1' err.txt || fail "not in place"
! grep -q "returns of" err.txt || fail "it tells of returns, where none are asked for"
grep -q 'no_jump="no memory can be had in it"' err.txt || fail "no reason for no jump: $(cat err.txt)"
text_of "$PID" "$F" after
cmp before after || fail "its code is not what it was, after --force"
untraced "$PID"
alive
go forced
finish forced

# Returns are caught nowhere then: it says so when that is known, once, and of return probes alone.
for mode in auto jump trap; do
	NAME=$mode start busy 1
	prlimit --pid "$PID" --as=1:1
	trace --mode $mode --force --stats -p "$PID" -n 50 -e "p:b/step $F:step" -e "r:b/ret $F:step"
	trace_done
	[ "$(count ' step: ')" = 50 ] || fail "$mode: not 50 events"
	[ "$(grep -c "warning: returns of .*step cannot be caught in process $PID: no memory can be had in it$" err.txt)" = 1 ] ||
		fail "$mode: no warning of returns, or several: $(cat err.txt)"
	grep -q 'b/ret hits=0 .* missed_no_room=[1-9]' err.txt || fail "$mode: returns are not missed: $(cat err.txt)"
	why='no memory can be had in it'
	[ $mode != trap ] || why='--mode says so'
	[ "$(grep -c "no_jump=\"$why\"" err.txt)" = 2 ] || fail "$mode: another reason: $(cat err.txt)"
	untraced "$PID"
	go $mode
	finish $mode
done

# Enough for slots and the guard, not for rings (of what is left they take an eighth).
NAME=little start busy 1
size=$(awk '/^VmSize/ { print ($2 + 8000) * 1024 }' "/proc/$PID/status")
prlimit --pid "$PID" --as="$size:$size"
trace --mode jump --stats -p "$PID" -n 50 -e "p:b/step $F:step"
trace_done
grep -q ' unguarded=0 ' err.txt || fail "little memory: no guard: $(cat err.txt)"
grep -q ' boosted=1 .* no_jump="no memory can be had in it"' err.txt || fail "little memory: $(cat err.txt)"
untraced "$PID"
go little
finish little
