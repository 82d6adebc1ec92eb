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
