# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Attached to a busy server and let go, ROUNDS times (fewer where all is slow): each request is answered, and
# nothing grows in it: no mapping, no address space, no descriptor, no thread.
. "${0%/*}/lib.bash"

F=$FIXTURES/server
ROUNDS=${ROUNDS:-$(often 60)}
sizes() {
	echo "mappings $(wc -l < "/proc/$PID/maps") of $(awk '/^VmSize/ { print $2 }' "/proc/$PID/status") kB," \
	    "descriptors $(find "/proc/$PID/fd" -type l | wc -l)," \
	    "threads $(find "/proc/$PID/task" -mindepth 1 -maxdepth 1 | wc -l)"
}
# grown BEFORE AFTER: is a number of AFTER larger?
grown() {
	awk -v before="$1" -v after="$2" 'BEGIN {
		n = split(before, b, /[^0-9]+/); split(after, a, /[^0-9]+/)
		for (i = 1; i <= n; i++) if (a[i] + 0 > b[i] + 0) exit 0
		exit 1
	}'
}
round() { # round MODE [DEF]: the entry, and what DEF says
	timeout "$TIMEOUT" "$UPROBE" --mode "$1" -p "$PID" -n 5 -e "p:s/handle $F:handle n=$ARG1" \
	    ${2:+-e "$2"} > out.txt 2> err.txt || fail "uprobe ended with $?"
	[ "$(events | wc -l)" -ge 5 ] || fail "no requests were seen"
	alive
	untraced "$PID"
}
start server
go
# The first leaves a little memory of ours mapped; it is used again.
ret="r:s/ret $F:handle \$retval"
round trap "$ret"
round step "$ret"
round auto
round auto "$ret"
before=$(sizes)
for ((i = 0; i < ROUNDS; i++)); do
	case $((i % 4)) in
	0) round step "$ret" ;;
	1) round trap "$ret" ;;
	2) round auto ;;
	3) round auto "$ret" ;;
	esac
done
# What a thread may be in when uprobe leaves stays until the next one leaves: at any end, so at this one, too.
for more in 1 2 3 4 5; do
	after=$(sizes)
	grown "$before" "$after" || break
	round auto "$ret"
done
! grown "$before" "$(sizes)" || fail "after $ROUNDS rounds and $more more: $(sizes); before: $before"
go
finish
case $LAST in "answered "*) ;; *) fail "the server says '$LAST'" ;; esac
