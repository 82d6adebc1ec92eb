# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# One program linked with glibc and with musl, dynamic, static and static-pie: threads, signals, masks, children
# of all kinds, a SIGTRAP handler of its own. Every call is seen, nothing is disturbed; nor when uprobe is
# killed in the middle of it, again and again.
. "${0%/*}/lib.bash"
in_modes auto trap

make_life() { # make_life NAME CC [FLAG...]: no result where the C library is missing
	local out=$1
	shift
	command -v "$1" > /dev/null || return 1
	"$@" -O1 -g -fno-inline -pthread -I"$UBP_SRC/fixtures" -o "$out" "$UBP_SRC/fixtures/life.c" 2> cc.err ||
		fail "$*: $(cat cc.err)"
}
made=()
while read -r name cc; do
	# shellcheck disable=SC2086 # words
	make_life "$name" $cc && made+=("$name")
done <<'END'
glibc gcc
glibc_static gcc -static
glibc_static_pie gcc -static-pie
glibc_nopie gcc -no-pie
musl musl-gcc
musl_static musl-gcc -static
musl_static_pie musl-gcc -static-pie
END

defs() { # by FILE
	defs=(-e "p:l/work $1:work n=%di:s64 s=+0(%si):string" -e "r:l/back $1:work r=\$retval:s64"
		-e "r:l/outer_back $1:outer r=\$retval:s64")
}
for f in "${made[@]}"; do
	defs "./$f"
	echo go | "$UPROBE" --lossless --stats -o out.txt "${defs[@]}" -- "./$f" 4 > stdout.txt 2> err.txt ||
		fail "$f: status $?: $(cat err.txt)"
	calls=$(sed -n 's/^calls //p' stdout.txt)
	[ "$calls" = 288 ] || fail "$f says '$(cat stdout.txt)'"
	expect_count 288 ' work: '
	expect_count 240 ' outer_back: .* r=[0-9]+$'
	expect_count 12 ' work: .* n=12 s="child"$'
	expect_count 4 ' work: .* n=11 s="vfork"$'
	expect_count 288 ' back: .* r=[0-9]+$'
	grep -q ' unguarded=0 ' err.txt || fail "$f: no guard: $(cat err.txt)"
	[ "$MODE" = trap ] || grep -q ' l/work .* jumps=[1-9]' err.txt || fail "$f: no jump: $(cat err.txt)"
	# A filter.
	echo go | "$UPROBE" -o out.txt "${defs[0]}" "${defs[1]}" --filter 's == "child" || s == "vfork"' -- "./$f" 2 > stdout.txt 2> err.txt ||
		fail "$f: status $?: $(cat err.txt)"
	expect_count 8 ' work: '
done

# A child that shares the memory at the very end keeps the jumps to the guard there; they do nothing.
leaves_clean() {
	text_of "$target" "$PWD/$f" now
	cmp -s clean now && untraced "$target" && return
	trace -p "$target" "${defs[@]}"
	trace_stop
	return 1
}
# Killed while it is at work, and the next one again.
for f in "${made[@]}"; do
	defs "$PWD/$f"
	NAME=$f start "$PWD/$f"
	target=$PID
	text_of "$target" "$PWD/$f" clean
	go "$f"
	for _ in 1 2 3; do
		trace "${defs[@]}"
		wait_for out.txt ' back: '
		wait_for out.txt 's="child"'
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		alive "$target"
	done
	trace -p "$target" "${defs[@]}"
	wait_for err.txt 'taken out that a killed ubp had left'
	wait_for out.txt ' work: '
	wait_for out.txt ' outer_back: '
	trace_stop
	eventually leaves_clean
	go "$f"
	finish "$f"
done
for f in musl musl_static; do
	case " ${made[*]} " in *" $f "*) ;; *) skip "the rest needs musl-tools" ;; esac
done
