# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A pattern whose places are not all jumps says at the start how many are stops, and which of them most of the code leads to.
. "${0%/*}/lib.bash"

need_arch x86_64
F=$FIXTURES/some_stops
tells() { # tells TEXT ARG...: TEXT, or nothing
	local want=$1
	shift
	start some_stops
	trace -p "$PID" "$@"
	go
	trace_done
	finish
	printf '%s' "${want:+$want
}" | diff -u - err.txt || fail "uprobe $*: something else is told"
}

tells "uprobe: 4 of 5 places of p:$F:some_* are stops (--explain tells why), likely hot: some_hot, some_warm, some_idle" "p:$F:some_*"
expect_count 5 ' some_'
tells "uprobe: 4 of 5 places of r:g/ $F:some_* are stops (--explain tells why), likely hot: some_hot, some_warm, some_idle" \
	-e "r:g/ $F:some_*"
tells "uprobe: all 3 places of p:$F:some_[hij]* are stops (user stacks are unwound at stops), likely hot: some_hot, some_idle, some_jump" \
	-s "p:$F:some_[hij]*"
# Each pattern by itself; and none of one place, of jumps, or where breakpoints are asked for.
tells "uprobe: all 2 places of p:$F:some_[hi]* are stops (--explain tells why), likely hot: some_hot, some_idle
uprobe: all 2 places of p:$F:some_[wi]* are stops (--explain tells why), likely hot: some_warm, some_idle" \
	-e "p:$F:some_[hi]*" -e "p:$F:some_[wi]*"
tells "" "p:$F:some_h*"
tells "" -e "p:$F:some_hot" -e "p:$F:some_warm"
tells "" "p:$F:some_j*"
tells "" --mode trap "p:$F:some_*"
tells "" --mode step "p:$F:some_*"
# Who only looks sees nothing of that.
"$UPROBE" --explain "p:$F:some_*" > out.txt 2> err.txt || fail "--explain: $?"
[ "$(grep -c . err.txt)" = 1 ] && grep -q "traced all the time" err.txt || fail "--explain tells more: $(cat err.txt)"
