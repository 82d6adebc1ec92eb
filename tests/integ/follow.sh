# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Which children are traced: those of a command, and with --follow those of a process as well; with
# --no-follow none, and nobody is attached to them.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/ptraces
run() {
	"$UPROBE" "$@" -o ev.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$F" none > out.txt 2> err.txt < /dev/null ||
		fail "$*: ended with $?"
	[ ! -s err.txt ] || fail "$*: it says something"
}
run
grep -qx 'traced 1' out.txt || fail "children of a command are not traced"
[ "$(count ' i=1$' ev.txt)" = 1 ] && [ "$(count ' i=9$' ev.txt)" = 1 ] || fail "by default: $(cat ev.txt)"
run --no-follow
grep -qx 'traced 0' out.txt || fail "--no-follow: the child is traced"
[ "$(count ' i=1$' ev.txt)" = 0 ] && [ "$(count ' i=9$' ev.txt)" = 1 ] || fail "--no-follow: $(cat ev.txt)"

# One that executes another program, in its parent's memory up to there.
"$UPROBE" --no-follow -o ev.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$BASH" -c "\"$F\" none; :" > out.txt 2> err.txt ||
	fail "a shell: $?"
grep -qx 'traced 0' out.txt && [ -z "$(events ev.txt)" ] || fail "--no-follow: a program of a shell is traced"

start ptraces none wait
trace -p "$PID" -e "p:t/work $F:work i=$ARG1:s32"
go
finish
trace_done
expect_count 1 ' work: '
rm -f -- fix.*
start ptraces none wait
trace --follow -p "$PID" -e "p:t/work $F:work i=$ARG1:s32"
go
finish
trace_done
expect_count 1 ' work: .* i=1$'
expect_count 1 ' work: .* i=9$'

for wrong in "--follow --no-follow -p 1" "--follow -L 1" --follow --no-follow; do
	# shellcheck disable=SC2086 # several
	timeout "$TIMEOUT" "$UPROBE" $wrong "p:$F:work" > out.txt 2> err.txt
	[ $? = 2 ] || fail "$wrong: not a usage error"
done
