# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Hundreds of instruction forms, each probed: the program computes what it computes
# without probes, and each probe is hit as often as its function runs.
. "${0%/*}/lib.bash"

F=$FIXTURES/insn_torture
[ -x "$F" ] || skip "no insn_torture for $(uname -m)"
"$F" < /dev/null > want.txt || fail "insn_torture alone ends with $?"
nm "$F" | awk '$2 ~ /[tT]/ && $3 ~ /^t_/ { print $3 }' | sort -u > names
[ "$(wc -l < names)" -gt 50 ] || fail "only $(wc -l < names) functions to probe"

# What may not be probed is refused by name; the rest goes on.
: > defs
while read -r name; do
	if "$UPROBE" --check -e "p:t/$name $F:$name" > /dev/null 2> err.txt; then
		echo "p:t/$name $F:$name sp=%sp" >> defs
	else
		echo "refused: $name: $(head -n 1 err.txt)"
	fi
done < names
[ $((10 * $(wc -l < defs))) -gt $((9 * $(wc -l < names))) ] || fail "too many are refused"

run() { # run WHAT OPTION...
	local what=$1
	shift
	"$UPROBE" --stats --lossless -o out.txt "$@" -- "$F" < /dev/null > got.txt 2> err.txt ||
		fail "$what: ended with $?"
	cmp want.txt got.txt || { diff want.txt got.txt | head -n 20; fail "$what: other results"; }
}
run "all at once" -f defs
awk '/ stats: .* hits=0 / { print }' err.txt > unhit
[ ! -s unhit ] || fail "never hit: $(head -n 3 unhit)"
run "all at once, stepped" --mode step -f defs
sed 's/^p:t/r:r/; s/ sp=.*//' defs > returns
run "returns" -f returns
cat defs returns > both
run "entries and returns" -f both
