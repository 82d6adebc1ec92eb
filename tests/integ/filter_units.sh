# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Units in filters: the same hits as with plain numbers, in patterns, too; none in the kernel's grammar.
. "${0%/*}/lib.bash"

F=$FIXTURES/duration
passed() { # passed FILTER: how many of the calls of spends() return within it, or not
	"$UPROBE" --lossless --stats -o out.txt -e "r:d/spends $F:spends d=\$duration ns=\$retval:u64" --filter "$1" \
		-- "$F" 3 2 > stdout.txt 2> err.txt < <(echo go) || fail "filter $1: status $?"
	grep -c 'spends: ' out.txt
}
all=$(passed 'ns > 0')
[ "$all" -ge 7 ] || fail "$all returns"
[ "$(passed 'd >= 2.9ms')" = "$all" ] || fail "some took less than 3 ms"
[ "$(passed 'd < 2.9ms')" = 0 ] || fail "some took less than 3 ms"
[ "$(passed 'd > 1us && d < 1h && d < 60min && d < 3600s')" = "$all" ] || fail "units of time"
[ "$(passed 'ns >= 1KiB && ns >= 1kB && ns < 1TiB')" = "$all" ] || fail "units of size"

# A unit that is none, or an odd number before one, has a hint; it is not the kernel's.
units='  hint: units are ns us ms s min h, or B kB KiB MB MiB GB GiB TB TiB, as in 50ms'
refused() { # refused COLUMN FILTER ARG...
	local column=$1 filter=$2 status=0 hint=$units
	shift 2
	[ "$1" != --strict ] || hint=
	"$UPROBE" --check "$@" --filter "$filter" > out.txt 2> err.txt || status=$?
	printf 'uprobe: error: Illegal integer value\n  %s\n%*s^\n%s' "$filter" "$((column + 2))" "" "${hint:+$hint$'\n'}" | diff -u - err.txt ||
		fail "$filter: another message"
	[ $status = 1 ] || fail "$filter: status $status"
}
short=(-e "p:$F:spends d=$ARG1")
refused 5 'd > 5xs' "${short[@]}"
decimal='  hint: a number with a unit is decimal, as in 50ms'
large='  hint: with its unit this number is too large'
part='  hint: with its unit this is no whole number of nanoseconds or bytes, or is too large'
units=$decimal refused 5 'd > 010ms' "${short[@]}"
units=$decimal refused 5 'd > 0x1s' "${short[@]}"
units=$large refused 5 'd > 16777216TiB' "${short[@]}"
units=$large refused 5 'd > 99999999999h' "${short[@]}"
units=$part refused 6 'd == 0.0001us' "${short[@]}"
units=$part refused 5 'd > 1.5B' "${short[@]}"
refused 17 'd > 50ms && d < 5kiB' "${short[@]}"
# A number with a sign cannot be as large, one without has no sign.
units='  hint: this number has no sign' refused 5 'd > -1ms' "${short[@]}"
units=$large refused 5 'd > 9223372037s' -e "p:$F:spends d=$ARG1:s64"
"$UPROBE" --check -e "p:$F:spends d=$ARG1:s64" --filter 'd > -1.5ms' > out.txt 2> err.txt || fail "a number with a sign"
plain=$("$UPROBE" --check -e "p:d/spends $F:spends d=$ARG1")
refused 5 'd > 50ms' --strict -e "$plain"
