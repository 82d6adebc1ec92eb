# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A part of short_jump.sh: what stands near a punned jump. The bytes of what follows are a part of it.
# All of them, with one, two and three bytes of their own.
trace --stats --lossless -p "$PID" -e "p:s/one $F:one" -e "p:s/two $F:two" -e "p:s/nothing $F:nothing" -e "p:s/copied $F:copied"
eventually is_jump
tell 'once 100' called
trace_stop
tell bytes same
for f in one two nothing copied; do
	[ "$(stat $f by_punned)" = 1 ] && [ "$(stat $f stopped)" -lt 20 ] || fail "$f: $(grep " s/$f " err.txt)"
done
[ "$(count)" = 400 ] || fail "$(count) events of 400"
# What follows is probed, too: the one in front stays a breakpoint.
trace --stats --lossless -p "$PID" -e "p:s/nothing $F:nothing" -e "p:s/so_far $F:so_far" -e "p:s/copied $F:copied"
eventually is_jump
tell 'once 100' called
trace_stop
tell bytes same
[ "$(stat nothing jumps)" = 0 ] && [ "$(stat so_far jumps)" = 1 ] || fail "not the one that has room is a jump"
grep -q ' s/nothing .*no_jump="another probe stands on the instructions that a jump would replace"' err.txt || fail "no reason"
[ "$(count)" = 300 ] || fail "$(count) events of 300"
