# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Probes at source lines and in inlined functions, in programs compiled in many ways:
# each is hit as often as the line runs.
. "${0%/*}/lib.bash"
have gcc

SOURCE=$UBP_SRC/fixtures/source.c
# Line of the source that has this text, counted from the line of that one.
line_of() { grep -nF -- "$1" "$SOURCE" | head -n 1 | cut -d : -f 1; }
parse=$(line_of 'int parse(') twice=$(line_of 'int twice(')

# hits EXPECTED DEFINITION: run the program, count the lines of events.
hits() {
	"$UPROBE" "$2" -- "$prog" > out.txt 2> err.txt || fail "$prog: $2"
	n=$(grep -c ': (0x' out.txt)
	[ "$n" = "$1" ] || fail "$prog: $2: $n hits, not $1"
}

# In twice(): 17 calls (10 of sum(), 3 of parse(), 4 of main()); 4 of them with more than 5. 5 calls of
# parse(), 2 of them with no name.
check() {
	prog=./$1
	hits 17 "p:$prog:twice"
	hits 17 "p:$prog:twice:5"
	hits 17 "p:$prog:source.c:$((twice + 5))"
	hits 4 "p:$prog:twice:6"
	hits 5 "p:$prog:parse:5"
	hits 2 "p:$prog:fixtures/source.c:$((parse + 6))"
	hits 3 "p:$prog:parse:10"
	# gcc doubles the end of a function in a way that no debug information tells.
	case $1 in gcc-3-*) ;; *) hits 4 "p:$prog:sum:6" ;; esac
	hits 4 "p:$prog:sum"
	n_checked=$((n_checked + 1))
}

n_checked=0 levels='0 1 2 3' versions='4 5' least=8
! slow || levels=2 versions=5 least=1
for cc in gcc clang; do
	command -v $cc > /dev/null || { echo "no $cc"; continue; }
	for level in $levels; do
		for version in $versions; do
			name=$cc-$level-$version
			$cc -O$level -gdwarf-$version -o "$name" "$SOURCE" || fail "$cc"
			check "$name"
		done
	done
done
[ "$n_checked" -ge $least ] || fail "only $n_checked programs"
