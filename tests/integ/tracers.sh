# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Programs that trace their own children do so beside us: who is to be traced by another is let go of
# before, with everything of ours taken out, and that is said once.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/ptraces
for how in traceme rawtraceme attach rawattach seize rawseize vfork; do
	"$UPROBE" -o ev.txt -e "p:t/work $F:work i=$ARG1:s32" -e "r:t/helper $F:helper \$retval" -- "$F" $how \
		> out.txt 2> err.txt < /dev/null
	rc=$?
	mv ev.txt out.ev
	[ $rc = 0 ] && grep -qx well out.txt || fail "$how: ended with $rc"
	[ "$(grep -c 'is let go: ' err.txt)" = 1 ] || fail "$how: not told once"
	[ "$(count ' work: .* i=1$' out.ev)" -le 1 ] && [ "$(count ' work: .* i=9$' out.ev)" = 1 ] ||
		fail "$how: $(cat out.ev)"
	# Whoever asks is there before; an attacher may be faster than its child.
	[[ $how == *attach || $how == *seize ]] || [ "$(count ' work: .* i=1$' out.ev)" = 1 ] ||
		fail "$how: the child was not traced before"
	[ "$(count ' work: .* i=2$' out.ev)" = 0 ] || fail "$how: the child is traced by two"
done

# By the C library's syscall() nobody sees it: the call fails, nothing is said, nothing else is harmed; --no-follow helps.
for how in traceme attach seize; do
	"$UPROBE" -o out.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$F" any$how > told.txt 2> err.txt < /dev/null
	rc=$?
	[ $rc = 1 ] && ! grep -q . err.txt || fail "any$how: ended with $rc: $(cat err.txt)"
	grep -qxE 'status 0xa00, not a stop by signal 19|attach: Operation not permitted' told.txt || fail "any$how: $(cat told.txt)"
	[ "$(count ' work: .* i=[29]$')" = 0 ] || fail "any$how: it went on"
	"$UPROBE" --no-follow -o out.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$F" any$how > told.txt 2> err.txt < /dev/null ||
		fail "any$how: with --no-follow it ended with $?: $(cat told.txt err.txt)"
	grep -qx well told.txt && [ "$(count ' work: ')" = 1 ] && [ "$(count ' work: .* i=9$')" = 1 ] || fail "any$how: $(cat out.txt)"
done

# The whole memory is let go of.
"$UPROBE" -o ev.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$F" share > out.txt 2> err.txt < /dev/null || fail "share: $?"
grep -qx well out.txt && [ "$(grep -c 'is let go: ' err.txt)" = 1 ] || fail "share"

# Another uprobe is such a tracer: what it runs is its own.
"$UPROBE" -o ev.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$UPROBE" -o inner.txt -e "p:t/work $F:work i=$ARG1:s32" -- \
	"$F" none > out.txt 2> err.txt < /dev/null || fail "uprobe under uprobe: $?: $(cat err.txt)"
grep -qx well out.txt && [ "$(count ' work: .* i=9$' inner.txt)" = 1 ] && [ "$(count ' work: ' ev.txt)" = 0 ] ||
	fail "uprobe under uprobe: $(cat ev.txt inner.txt)"

# uprobe looks at all new processes here. One that lives in the memory of its parent is no program of its own, and it
# may be about to trace its parent, or have done so.
cp "$F" hidden
trace -e "p:t/work ./hidden:work i=$ARG1:s32"
# all_seen: until uprobe has looked at all processes that were born before this call.
all_seen() {
	NAME=other start "$PWD/hidden" none wait
	eventually traced "$PID"
	go other
	finish other
	wait_for out.txt "-$PID .* work: .* i=9\$"
}
for how in hidden late; do
	NAME=checked start "$PWD/hidden" $how
	eventually traced "$PID"
	all_seen
	go checked
	read -r -t "$TIMEOUT" word <&"$OUT_checked" && [ "$word" = attached ] || fail "$how: $word"
	all_seen
	go checked
	finish checked
	[ "$LAST" = well ] || fail "$how: $LAST"
done
trace_stop
[ "$(grep -c 'is let go: ' err.txt)" = 1 ] || fail "not told once"
grep -q ' 2 processes in all had other tracers$' err.txt || fail "not two"
expect_count 0 ' work: .* i=8$'
