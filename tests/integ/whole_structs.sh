# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A struct, or an array of structs or arrays, is an arg for each of its parts; what a C++ reference
# refers to may be written with a star.
. "${0%/*}/lib.bash"

F=$FIXTURES/whole
# printed ARGS WANT: what one hit prints behind the address.
printed() {
	echo | "$UPROBE" -o out.txt "p:$F:each $1" -- "$F" > stdout.txt 2> err.txt || fail "$1: $?"
	[ "$(sed -nE 's/.* each: \(0x[0-9a-f]+\) //p' out.txt | sed -E 's/=0x[0-9a-f]+/=ADDR/g')" = "$2" ] || fail "$1: not $2"
}
# The string's own members are left out: libstdc++'s are private, and its text is the value.
all() {
	echo "$1_name=\"seven\" $1_title=\"a title\" $1_kind=FLAT $1_ok=true $1_low=5 $1_high=3 $1_bits=6 $1_number=6" \
		"$1_at_x=1 $1_at_y=2 $1_to=ADDR $1_rows_0={1,2,3} $1_rows_1={4,5,6} $1_corners_0_x=3 $1_corners_0_y=4" \
		"$1_corners_1_x=5 $1_corners_1_y=6 $1_id=77"
}
for expr in '*a' '*r' r; do
	printed "$expr" "$(all "${expr#\*}")"
	grep -qE "^uprobe: warning: each: left out: .*many .*many has 100 elements" err.txt || fail "$expr: nothing is said of what is left out"
done
printed 'q=*a' "$(all q)"
printed 'a:struct' "$(all a)"
printed 'q=r:struct' "$(all q)"
printed 'p:struct to=a->to:struct' 'p_x=1 p_y=2 to_x=5 to_y=6'
printed 'p' 'p_x=1 p_y=2'
printed 'a->at x=*a->to' 'at_x=1 at_y=2 x_x=5 x_y=6'
printed 'a->rows a->rows[1]' 'rows_0={1,2,3} rows_1={4,5,6} rows={4,5,6}'
printed 'a->corners' 'corners_0_x=3 corners_0_y=4 corners_1_x=5 corners_1_y=6'
printed '*n n *m' 'n=9 n_2=9 m={1,2,3}'
[ ! -s err.txt ] || fail "a message"
# What has more than four parts, with those of its parts, is none of $params.
printed '$params' 'a=ADDR p_x=1 p_y=2 n=9 m=ADDR'
grep -qE "^uprobe: warning: each: left out: r, t \\(" err.txt || fail "\$params: nothing is said of what is left out"

# What has no parts that can be printed says why.
refused "a->many has 100 elements" "p:$F:each a->many"
refused "n is no struct, nor does it point to one" "p:$F:each n:struct"
refused "no variable 'aa' here; did you mean 'a'" "p:$F:each aa:struct"
refused "a has no member 'titel'; did you mean 'title'\\? It has name, title, kind," "p:$F:each a->titel"
refused "is no pointer" "p:$F:each *p.x"
refused "no single value" "p:$F:each *a:string"
# As a kernel takes it.
timeout "$TIMEOUT" "$UPROBE" --definition "p:$F:each a->at" > out.txt 2> err.txt || fail "--definition: $?"
grep -qE ' at_x=\+[0-9]+\(%..\):s32 at_y=\+[0-9]+\(%..\):s16$' out.txt || fail "--definition: not the two"
