# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions with return probes that are left in all the ways there are in C: the
# program never notices, every return is reported, and what cannot return is
# counted as missed, once, with its reason. Of returns that a detour waits for nobody
# knows when the process ends: by jumps fewer are counted, and never more.
. "${0%/*}/lib.bash"

F=$FIXTURES/leave
defs=()
for f in frame step in_handler; do
	defs+=(-e "p:l/$f $F:$f n=$ARG1:s64" -e "r:l/${f}_ret $F:$f \$retval:s64")
done
# sum NAME: of a counter over all return probes.
sum() { grep -o " $1=[0-9]*" err.txt | awk -F= '{ n += $2 } END { print n + 0 }'; }
# leave REASON WAY [N]: what is entered returns, or is missed for this reason.
leave() {
	local why=$1 missed r all
	shift
	"$UPROBE" --mode $mode --stats --lossless -o out.txt "${defs[@]}" -- "$F" "$@" <<< go > stdout.txt 2> err.txt
	r=$?
	case $1 in exit | _exit | exec) [ $r = 7 ] ;; abort) [ $r = 134 ] ;; *) [ $r = 0 ] ;; esac ||
		fail "$*: ended with $r: $(cat stdout.txt)"
	set -- "$@" $(sed -n 's/^entered \([0-9]*\) returned \([0-9]*\)$/\1 \2/p' stdout.txt)
	[ $# = 4 ] || fail "$*: it says '$(cat stdout.txt)'"
	if [ "$1" = exit ]; then # at_exit() runs after it has said so
		set -- "$1" "$2" $(($3 + 1)) $(($4 + 1))
	fi
	missed=$(($3 - $4))
	[ "$(count ' (frame|step|in_handler): ')" = "$3" ] || fail "$*: not all entries"
	[ "$(count '_ret: ')" = "$4" ] || fail "$*: $(count '_ret: ') returns, missed $(sum missed)"
	all=$(sum missed)
	[ "$all" = $missed ] || { [ $mode = auto ] && [ "$all" -lt $missed ]; } ||
		fail "$*: $all missed, not $missed: $(cat err.txt)"
	[ $mode = auto ] || [ -z "$why" ] || [ $missed = 0 ] || [ "$(sum "missed_$why")" = $missed ] ||
		fail "$*: only $(sum "missed_$why") of $missed are $why: $(cat err.txt)"
}
for mode in ${UBP_MODES:-trap auto}; do
	leave skipped longjmp $(scaled 300)
	leave skipped siglongjmp $(scaled 100)
	leave none handler $(scaled 50)
	leave none deep $(scaled $(scaled 100000))
	leave none swapcontext 3
	leave none switch 3
	leave none moved 3
	leave thread pthread_exit $(scaled 50)
	leave thread thread_dies $(scaled 50)
	leave '' cancel $(scaled 20) # cleanup handlers are jumped to, from inside the unwinder
	leave exited exit 5
	leave exited _exit 5
	leave exited abort 5
	leave exited exec 5
done
# Thrown away coroutines are skipped when their memory is used again, or are still
# there when the process ends.
"$UPROBE" --mode trap --stats --lossless -o out.txt "${defs[@]}" -- "$F" thrown_away "$(scaled 500)" <<< go > stdout.txt 2> err.txt ||
	fail "thrown_away: ended with $?"
[ "$(sum missed)" = "$(sed -n 's/^entered \([0-9]*\) .*/\1/p' stdout.txt)" ] ||
	fail "thrown_away: $(cat stdout.txt err.txt)"
