# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Static probes with operands of every form, as several compilers make them: the values of
# all arguments are those that the program prints.
. "${0%/*}/lib.bash"
need_arch x86_64

# check NAME FILE: run it under all its probes.
check() {
	local name=$1 file=$2 n
	"$TOOLS/notes_dump" forms "$file" > "$name.def" 2> "$name.refused" || fail "$name: notes_dump"
	[ ! -s "$name.refused" ] || fail "$name: refused: $(head -n 3 "$name.refused")"
	echo go | "$UPROBE" -o out.txt -f "$name.def" -- "$file" > "$name.said" 2> err.txt || fail "$name: ended with $?"
	tail -n +2 "$name.said" > "$name.truth"
	# The event is the probe's name with the number of its note.
	events | sed -E 's/^.*: ([a-z_0-9]+)_[0-9]+: \(0x[0-9a-f]+\)/\1/' > "$name.got"
	n=$(wc -l < "$name.truth")
	[ "$n" -ge 30 ] || fail "$name: only $n lines"
	diff -u "$name.truth" "$name.got" || fail "$name: other values"
}
in_modes trap jump
check fixture "$FIXTURES/usdt_forms"
[ "$MODE" = trap ] || exit 0
for cc in gcc clang; do
	have $cc
	for flags in -O0 -O2 -O3 "-O2 -no-pie -fno-pie" "-O1 -fomit-frame-pointer -static"; do
		# shellcheck disable=SC2086 # flags are split on purpose
		$cc -g -w -fno-inline -pthread $flags -o "$PWD/prog" "$UBP_SRC/fixtures/usdt_forms.c" || fail "$cc $flags"
		check "$cc${flags// /_}" "$PWD/prog"
	done
done
