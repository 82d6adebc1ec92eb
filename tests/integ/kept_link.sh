# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Returns of functions that keep their return address in a register, by jumps and by breakpoints at once:
# several wait at one stack pointer, and each goes home. Every return is an event, or counted as missed.
. "${0%/*}/lib.bash"
need_arch aarch64

F=$FIXTURES/kept_link
N=50
seen() { echo $(($(count " $1: ") + $(sed -nE "s/.* stats: .* k\/$1 .*\bmissed=([0-9]+).*/\1/p" err.txt))); }
# What wants a flag keeps its breakpoint.
for traps in '' outer inner tail 'outer inner' 'inner tail' 'outer tail' 'outer inner tail'; do
	defs=()
	for f in outer inner tail; do
		flag=
		case " $traps " in *" $f "*) flag=' f=%pstate' ;; esac
		defs+=(-e "r:k/$f $F:$f v=\$retval:s64$flag")
	done
	start kept_link $N
	trace --stats --lossless -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	[ "$LAST" = "$N rounds" ] || fail "by breakpoints $traps: it says '$LAST'"
	for f in outer inner tail; do
		[ "$(seen $f)" = $N ] || fail "by breakpoints $traps: $f: $(seen $f) of $N"
		[ "$(count " $f: ")" = 0 ] || expect_count "$(count " $f: ")" " $f: .* v=[0-9]+"
	done
	echo "breakpoints '$traps': $(count ' outer: ') $(count ' inner: ') $(count ' tail: '), $(grep -c 'jumps=1' err.txt) jumps"
done
