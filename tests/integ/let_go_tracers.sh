# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Programs that trace their own children, where nobody traces them while they are recorded: they say what they say without uprobe, and who is traced by nobody is recorded.
# The first process of a pid namespace, let go of, ends by its own faults at once.
. "${0%/*}/lib.bash"
[ "$(uname -m)" = x86_64 ] || skip "only x86-64 lets go of processes so far"

F=$FIXTURES/ptraces
for follow in --follow --no-follow; do
	for how in traceme rawtraceme attach rawattach seize rawseize vfork none share; do
		"$UPROBE" $follow -o ev.txt -e "p:t/work $F:work i=$ARG1:s32" -- "$F" $how > out.txt 2> err.txt < /dev/null
		rc=$?
		[ $rc = 0 ] && grep -qx well out.txt || fail "$follow, $how: ended with $rc: $(cat err.txt)"
		[ "$(count ' work: .* i=9$' ev.txt)" -le 1 ] || fail "$follow, $how: $(cat ev.txt)"
		[ "$(count ' work: .* i=2$' ev.txt)" = 0 ] || fail "$follow, $how: the child is traced by two"
		# Who has asked for another tracer, in whose memory too, is recorded no more.
		[[ $how == share || $how == *seize || $how == *attach ]] || [ "$(count ' work: .* i=9$' ev.txt)" = 1 ] || fail "$follow, $how: $(cat ev.txt err.txt)"
	done
done
