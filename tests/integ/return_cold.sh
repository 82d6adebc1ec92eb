# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Parts of functions that are jumped to (NAME.cold) return nowhere: no return probe stands there.
. "${0%/*}/lib.bash"

F=$FIXTURES/throw_cold
have nm
part=$(nm "$F" | awk '/third.*\.cold$/ { print $3 " 0x" $1 }')
[ -n "$part" ] || skip "this compiler leaves the functions whole"
want=$("$F") || fail "the fixture ended with $?"
for mode in trap jump; do
	got=$("$UPROBE" --mode $mode -o out.txt -e "r:r $F:*ir*" -e "r:s $F:*second*" -- "$F" 2> err.txt) ||
		fail "$mode: ended with $?"
	[ "$got" = "$want" ] || fail "$mode: '$got', not '$want'"
	grep -qE 'NAME\.cold' err.txt || fail "$mode: not told what was left out: $(cat err.txt)"
done
refused 'is a part of a function, jumped to and not called' --check "r:$F:${part% *}"
refused 'is a part of a function, jumped to and not called' -e "r:g/e $F:${part#* }"
"$UPROBE" --check "p:$F:${part% *}" > out.txt || fail "an entry probe is refused"
"$UPROBE" --check --force "r:$F:${part% *}" > out.txt || fail "--force does not"
exit 0
