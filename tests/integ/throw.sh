# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Exceptions, forced unwinding and backtraces through functions with return probes:
# the program never notices, each return that happens is reported, and each that
# does not counts as missed. (By jumps: as far as anybody knew when the process ended.)
. "${0%/*}/lib.bash"

F=$FIXTURES/throw
L=$FIXTURES/throw_library
export THROW_LIBRARY=$L
ulimit -s unlimited
LIBRARY=$(scaled 20)
defs=()
for f in frame frame2 in_destructor in_handler; do
	defs+=(-e "p:t/$f $F:$f n=$ARG1:s64" -e "r:t/${f}_ret $F:$f \$retval:s64")
done
for f in through catching; do defs+=(-e "p:l/$f $L:$f" -e "r:l/${f}_ret $L:$f \$retval:s64"); done
# sum NAME FILE: of a counter over the return probes of a file.
sum() { grep "^uprobe: stats: $2 " err.txt | grep -o " $1=[0-9]*" | awk -F= '{ n += $2 } END { print n + 0 }'; }
throw() {
	local said
	"$UPROBE" --mode $mode --stats --lossless -o out.txt "${defs[@]}" -- "$F" "$@" <<< go > stdout.txt 2> err.txt ||
		fail "$*: ended with $?: $(cat stdout.txt)"
	said=$(sed -n 's/^entered \([0-9]*\) returned \([0-9]*\)$/\1 \2/p' stdout.txt)
	set -- "$*" $said
	[ $# = 3 ] || fail "$1: it says '$(cat stdout.txt)'"
	[ "$(count ' (frame2?|in_[a-z]*): ')" = "$2" ] || fail "$1: not all entries"
	[ "$(count ' (frame2?|in_[a-z]*)_ret: ')" = "$3" ] ||
		fail "$1: $(count ' (frame2?|in_[a-z]*)_ret: ') returns, not $3"
	[ "$(sum missed "$F")" = $(($2 - $3)) ] ||
		{ [ $mode = auto ] && [ "$(sum missed "$F")" -lt $(($2 - $3)) ]; } ||
		fail "$1: $(sum missed "$F") missed: $(cat err.txt)"
	[ "$(sum missed_skipped "$F")" -ge $((($2 - $3) / 2)) ] || fail "$1: $(cat err.txt)"
}
for mode in trap auto; do
	throw nested $(often 100)
	throw threads $(often 100)
	throw pthread $(often 50)
	throw signals $(often $(scaled 1000))
	throw coroutines 5
	throw backtrace $(often 30)
	throw crowd $(often $(scaled 20000))
	throw deep $(often $(scaled 20000))
	throw library $LIBRARY
	[ "$(count ' through_ret: ')" = $LIBRARY ] && [ "$(count ' catching_ret: .* arg1=-1$')" = $LIBRARY ] ||
		fail "the library's returns are not all there"
	[ "$(sum missed "$L")" = $LIBRARY ] || fail "$(sum missed "$L") missed in the library"
done
