# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Subshells, pipes, command substitutions, traps and jobs; each "check" does the same work.
trap 'got=$((got + 1))' USR1

fib() {
	local n=$1
	if ((n < 2)); then echo "$n"; else echo $(($(fib $((n - 1))) + $(fib $((n - 2))))); fi
}

check() {
	local all i
	got=0
	all=$(for i in 1 2 3 4 5; do echo "$i"; done | sort -r | tr '\n' ' ')
	all+=$(fib 5)
	(exit 3) & wait $!; all+=" $?"
	kill -USR1 $$
	for i in {1..200}; do all+=$((i * 7 % 11)); done
	read -r i < <(echo sub)
	echo "ok $got $i $(cksum <<< "$all")"
}

echo ready
while read -r line && [ "$line" != end ]; do
	check
done
exit 0
