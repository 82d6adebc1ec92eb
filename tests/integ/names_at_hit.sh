# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A thread's name, as an argument and in filters, is the one that the thread has at the hit, also if it was changed a
# moment before, or between a function's entry and its return, by the thread or another one. A jump does not know the
# name: such a place is a breakpoint, or a jump that stops the thread where the rest of the filter says yes.
. "${0%/*}/lib.bash"
in_modes auto trap step
n=$(scaled 400)
f=$FIXTURES/renames
run() {
	echo go | "$UPROBE" --stats -o out.txt "$@" -- "$f" "$n" > said.txt 2> err.txt || fail "ended with $?"
}

run \
	-e "p:k/named $f:named real=+0($ARG1):string c=\$comm i=$ARG2:s64" \
	-e "p:k/renamed $f:renamed real=+0($ARG1):string c=\$comm" \
	-e "r:k/renamed_ret $f:renamed real=+0(\$retval):string c=\$comm"
for event in named renamed renamed_ret; do
	expect_count $((2 * n)) " $event: "
done
wrong=$(events | grep -avE ' real=("[^"]*") c=\1') && fail "other names: $(head -n 3 <<< "$wrong")"

# Filters: what passes is what has the name; the first needs it, the second does for some.
odd=$(events | grep -acE ' named: .* c="odd"')
late=$(events | grep -aE ' named: .* c="odd"' | grep -acvE ' i=[0-9]{1,2}$')
back=$(events | grep -acE ' renamed_ret: .* c="odd"')
[ "$odd" -gt 0 ] && [ "$back" -gt 0 ] || fail "nobody was called odd"
run \
	-e "p:k/odd $f:named real=+0($ARG1):string" --filter 'comm == "odd"' \
	-e "r:k/back $f:renamed real=+0(\$retval):string" --filter 'comm ~ "od*"'
expect_count "$odd" ' odd: .* real="odd"'
expect_count "$odd" ' odd: '
expect_count "$back" ' back: .* real="odd"'
expect_count "$back" ' back: '
run \
	-e "p:k/late $f:named real=+0($ARG1):string i=$ARG2:s64" --filter 'comm == "odd" && i >= 100' \
	-e "p:k/name $f:named c=\$comm i=$ARG2:s64" --filter "i < 10"
expect_count "$late" ' late: .* real="odd"'
expect_count "$late" ' late: '
expect_count 20 ' name: '

# That is told beforehand.
"$UPROBE" --explain -e "p:k/a $f:named \$comm" -e "p:k/b $f:named" --filter 'comm == "b"' \
	-e "r:k/c $f:named v=\$retval" --filter 'comm == "c" || v > 3' > explain.txt || fail "--explain"
! grep -q "jump (" explain.txt || fail "a jump that always stops: $(cat explain.txt)"
"$UPROBE" --explain -e "p:k/late $f:named i=$ARG2:s64" --filter 'comm == "odd" && i >= 100' > late.txt ||
	fail "--explain"
slow || ! grep -q "jump (" late.txt || grep -aqE 'k/late .* jumps=1 ' err.txt || fail "no jump was made"
