# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --vars: the variables that can be seen at a place, as perf probe -V prints them; and what
# perf leaves out, with the reason, by --explain.
. "${0%/*}/lib.bash"
have gcc
src=$UBP_SRC/fixtures/vars_c.c

list() { # PROGRAM PLACE
	"$UPROBE" "./$1" --vars "$2" > vars.txt 2> err.txt || fail "--vars $2: ended with $?"
}
# perf goes by the function's entry, ubp by the place where a probe of the function stands, and perf
# does not know "const void".
plain() { sed -E -e 's/\+[0-9]+>$/+N>/' -e 's/\(unknown_type\)/void*/' "$1" | sort; }
beside_perf() { # PROGRAM PLACE...
	local prog=$1 place
	shift
	command -v perf > /dev/null && perf probe -x "./$prog" -V main > /dev/null 2>&1 || { echo "no perf that reads this: not compared"; return 0; }
	for place; do
		list "$prog" "$place"
		perf probe -x "./$prog" -V "$place" > perf.txt 2> /dev/null || fail "perf -V $place"
		diff -u <(plain perf.txt) <(plain vars.txt) || fail "$prog $place: not as perf"
	done
}
for dwarf in 4 5; do
	gcc -w -g -gdwarf-$dwarf -O0 -o "o0-$dwarf" "$src" || fail "gcc"
	gcc -w -g -gdwarf-$dwarf -O2 -o "o2-$dwarf" "$src" || fail "gcc"
	beside_perf "o0-$dwarf" integers others members locals inlined inlining globals by_value rows main
	beside_perf "o2-$dwarf" integers others members inlined globals by_value rows main
done

list o0-5 rows
printf 'Available variables at rows\n\t@<rows+N>\n\t\t%s\n\t\t%s\n\t\t%s\n' \
    $'char**\twords' $'int**\tmatrix' $'size_type\tn' > want.txt
sed -E 's/\+[0-9]+>/+N>/' vars.txt | diff -u want.txt - || fail "rows"

# A line, of a function and of a file; each copy of what was inlined.
list o2-5 inlined
[ "$(grep -c '@<inlining+' vars.txt)" = 2 ] || fail "not two copies"
line=$(grep -n 'place: loop' "$src" | cut -d: -f1)
list o0-5 "vars_c.c:$line"
grep -q $'^\t\tint\tsquare$' vars.txt || fail "no 'square' in its block"
list o0-5 locals
! grep -q 'square' vars.txt || fail "'square' outside of its block"
first=$(grep -n '^NOINLINE int locals' "$src" | cut -d: -f1)
list o0-5 "locals:$((line - first))"
grep -q $'^\t\tint\tsquare$' vars.txt || fail "no 'square' at a line of the function"

# What is optimised out is there with --explain only.
list o2-5 "vars_c.c:$line"
! grep -q '(' vars.txt || fail "reasons without --explain"
"$UPROBE" --explain ./o2-5 --vars "vars_c.c:$line" > vars.txt || fail "--explain"
grep -qE '\(.* is (optimised out here|computed )' vars.txt || fail "no reasons: $(cat vars.txt)"

refused "'square' is a variable of a block" "p:./o0-5:locals square"
refused "no variable 'summ' here; did you mean 'sum'" "p:./o0-5:locals summ"
refused 'constant is optimised out here|square is computed' "p:./o2-5:vars_c.c:$line square constant"
refused 'nosuch' ./o0-5 --vars nosuch
strip -o stripped o0-5
refused 'no debug information' ./stripped --vars main
