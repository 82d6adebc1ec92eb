# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# (REF_CTR): the counter in the target is raised while a probe is
# planted, and is what it was when we are gone.
. "${0%/*}/lib.bash"

F=$FIXTURES/semaphore
ref=$(foffset_of "$F" counter)
work=$("$UPROBE" --check -e "p:s/work $F:work" | sed -nE 's/.*:(0x[0-9a-f]{16}).*/\1/p')
[ -n "$ref" ] && [ -n "$work" ] || fail "no offsets: '$ref' '$work'"
says() {
	local line=
	go
	read -r -t "$TIMEOUT" line <&"$OUT_fix"
	[ "$line" = "$1" ] || fail "$2: the counter is '$line', not $1"
}
start semaphore
says 0 "before"
trace -p "$PID" -e "p:s/work $F:$work($ref) value=$ARG1:s32"
says 1 "one definition"
says 1 "one definition"
trace_stop
expect_count 2 ' work: .* value=1$'
says 0 "after"
trace -p "$PID" -e "p:s/a $F:$work($ref) value=$ARG1:s32" -e "r:s/b $F:$work($ref) \$retval:s32"
now=1
go
read -r -t "$TIMEOUT" now <&"$OUT_fix"
[ "$now" -ge 1 ] || fail "two definitions: the counter is '$now'"
trace_stop
expect_count 1 ' a: '
expect_count 1 ' b: '
says 0 "after both"
exec {IN_fix}>&-
finish
