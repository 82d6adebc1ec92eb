# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where no process is held at its exec, programs that end soon may be missed, and that is told: those that were
# traced and those that were told as missed are all there were.
. "${0%/*}/lib.bash"

need_root
have setpriv
setpriv --bounding-set=-sys_admin true || skip "capabilities cannot be dropped here"
printf '#!/bin/sh\nexec setpriv --bounding-set=-sys_admin %s "$@"\n' "$UPROBE" > uprobe
chmod 755 uprobe
UPROBE=$PWD/uprobe

# check N MS DEFINITION...: as many as N start, each lives MS ms.
check() {
	local n=$1 ms=$2 traced late unknown
	NAME=brief$ms start brief "$n" 1000 "$ms" "$PWD/prog"
	trace --stats "${@:3}"
	go "brief$ms"
	finish "brief$ms"
	trace_stop
	! grep -q 'finder=".*fanotify' err.txt || fail "processes are held at exec without CAP_SYS_ADMIN"
	traced=$(last_stat processes) late=$(last_stat too_late) unknown=$(last_stat not_known)
	# Others' programs may be among those that are not known.
	[ $((traced + late + unknown)) -ge "$n" ] || fail "$n ran: $traced traced, $late + $unknown told"
	[ $((traced + late)) -le "$n" ] || fail "$n ran: $traced traced, $late told"
	[ "$late" = 0 ] || grep -qE "^uprobe: .*$late process(es)? that ran what is probed ended before" err.txt ||
		fail "there is no line about $late that were missed"
	[ "$unknown" = 0 ] || grep -qE "^uprobe: .*of $unknown new process(es)? that ended at once it is not known" err.txt ||
		fail "there is no line about $unknown that may have been missed"
}

cp "$FIXTURES/brief" prog # the starter is another file, and so is not traced itself
for ms in 0 10; do
	check "$(scaled 300)" "$ms" "p:$PWD/prog:late"
done
# So many probes that the turn of some comes seconds after they were found, perhaps twice.
cp "$FIXTURES/brief_static" prog
check "$(scaled 400)" 500 -e "p:$PWD/prog:*" -e "r:$PWD/prog:*"
