# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Static probes with operands of every form, as several compilers make them: the values of
# all arguments are those that the program prints.
. "${0%/*}/lib.bash"
use_usdt
need_arch x86_64

# check LEAST NAME FILE PROVIDER: run it under all its probes; so many lines it prints at least.
check() {
	local least=$1 name=$2 file=$3 provider=$4 n
	echo go | "$UPROBE" -o out.txt -e "$file:$provider:*" -- "$file" > "$name.said" 2> err.txt ||
		fail "$name: ended with $?"
	! grep -v ' places of .* are stops (' err.txt || fail "$name: a message"
	tail -n +2 "$name.said" > "$name.truth"
	# Places with other arguments have numbers in their names.
	events | sed -E 's/^.*: ([a-z_0-9]+): \(0x[0-9a-f]+\)/\1/; s/^([a-z_0-9]*)_[0-9]+( |$)/\1\2/' > "$name.got"
	n=$(wc -l < "$name.truth")
	[ "$n" -ge "$least" ] || fail "$name: only $n lines"
	! grep -q '^off' "$name.truth" || fail "$name: a semaphore is not raised"
	diff -u "$name.truth" "$name.got" || fail "$name: other values"
}
in_modes trap jump
check 30 fixture "$FIXTURES/usdt_forms" forms
check 7 cpp "$FIXTURES/usdt_cpp" cpp
[ "$MODE" != jump ] || exit 0
ways=(-O0 -O2 -O3 "-O2 -no-pie -fno-pie" "-O1 -fomit-frame-pointer -static")
! slow || ways=(-O2)
for cc in gcc clang; do
	cxx=clang++
	[ $cc = clang ] || cxx=g++
	have $cc; have $cxx
	for flags in "${ways[@]}"; do
		# shellcheck disable=SC2086 # flags are split on purpose
		$cc -g -w -fno-inline -pthread $flags -o "$PWD/prog" "$UBP_SRC/fixtures/usdt_forms.c" || fail "$cc $flags"
		check 30 "$cc${flags// /_}" "$PWD/prog" forms
		# shellcheck disable=SC2086
		"$cxx" -g -w -pthread $flags -o "$PWD/prog" "$UBP_SRC/fixtures/usdt_cpp.cc" || fail "$cc $flags: c++"
		check 7 "$cc++${flags// /_}" "$PWD/prog" cpp
	done
done
