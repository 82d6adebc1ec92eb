# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What a host is promised of a session that traces its own children, with threads of the host's and with the engine in a process of its own: a queue
# that is full wakes who has not dispatched yet, nothing is lost, children that run the host's program are traced, and who waits for any child has his own.
. "${0%/*}/lib.bash"
export UBP_ENGINE=${UBP_ENGINE:-$UBP_BUILD/ubp-engine}

host() {
	timeout "$TIMEOUT" "$TOOLS/api_host" "$@" > out.txt 2> err.txt || fail "$*: $?"
	[ "$(tail -n 1 out.txt)" = 'all of it holds' ] && [ ! -s err.txt ] || fail "$*: something is told"
}
for where in here apart; do
	for mode in jump trap; do host $where full $mode; done
done
# With threads of the host's all that run its program are left alone (libubp(3), BUGS).
[ "$(id -u)" != 0 ] || host apart own
for kind in wait waitid; do
	host apart waits $kind
	grep -qx 'strange 0' out.txt || fail "$kind: $(head -n 1 out.txt)"
done
# These ask for what others do not see: the process that begins the engine. Their own children come to them all the same.
for kind in all clone; do host apart waits $kind; done
exit 0
