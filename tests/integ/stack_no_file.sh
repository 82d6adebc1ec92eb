# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where a file cannot be opened any more, libunwind finds the frames by the tables that are mapped, by
# itself, and --stats says so. Programs of another word size are not for it.
. "${0%/*}/lib.bash"
. "${0%/*}/stacks.bash"
need_arch x86_64
need_root # to be an ordinary user
have setpriv
command -v gcc > /dev/null || skip "no compiler"

cat > lib.c <<'C'
__attribute__((noinline)) int inner(int (*fn)(int), int n)
{
	volatile char room[300] = { (char)n };
	return fn(room[0]) + room[1];
}
int outer(int (*fn)(int), int n) { return inner(fn, n) * 3; }
C
cat > main.c <<'C'
#include <stdio.h>
int outer(int (*fn)(int), int n);
__attribute__((noinline)) int leaf(int n) { static volatile int s; s += n; return s; }
int main(void)
{
	puts("ready");
	fflush(stdout);
	return getchar() == EOF || outer(leaf, 7) != 21;
}
C
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fPIC -shared -o libx.so lib.c &&
	gcc -O2 -fomit-frame-pointer -o main main.c ./libx.so || fail "not compiled"
dir=$(mktemp -d) || fail "mktemp"
trap 'cleanup; rm -rf "$dir"' EXIT
cp "$UPROBE" libx.so main "$dir" && cp libx.so "$dir/keep.so" && chmod 755 "$dir" && cd "$dir" || fail "cd"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --)
"${user[@]}" ./uprobe --version > out.txt || skip "an ordinary user cannot run a program of $dir"

# stack_of KIND HOW: of leaf(), called by the library: as it is, or deleted.
stack_of() {
	mkfifo in told
	setarch -R "${user[@]}" ./main < in > told &
	PID=$!
	PIDS+=($PID)
	exec {to}> in {from}< told
	read -r -t "$TIMEOUT" _ <&$from || fail "main is not ready"
	[ "$2" = there ] || rm -f libx.so
	mkfifo ready.$1
	"${user[@]}" ./uprobe --stats --stack="$1" --stack-raw -n 1 --ready-fd 7 -p "$PID" p:./main:leaf \
		7> ready.$1 > out.txt 2> err.txt &
	UP=$!
	read -r -t "$TIMEOUT" _ < ready.$1 || { cat err.txt; fail "uprobe is not ready"; }
	echo >&$to
	wait $UP || fail "uprobe: $?"
	wait $PID || fail "main: $?"
	[ "$2" = there ] || cp keep.so libx.so
	exec {to}>&- {from}<&-
	rm -f in told ready.*
	got=$(stacks_of)
}
ways() { sed -nE 's/.* (frames_by_rows=.*)/\1/p' err.txt; }

stack_of cfi there
want=$got
[ "$(wc -w <<< "$want")" -ge 4 ] || fail "no stack: $want"
[ "$(ways | sed 's/frames_by_rows=[1-9][0-9]*//')" = " frames_by_libunwind=0 frames_by_frame_pointer=0" ] || fail "by $(ways)"
stack_of cfi gone
[ "$got" = "$want" ] || fail "deleted: $got, not $want"
ways | grep -qE 'frames_by_rows=[1-9][0-9]* frames_by_libunwind=2 frames_by_frame_pointer=0' || fail "deleted: by $(ways)"
stack_of unwind there
[ "$got" = "$want" ] || fail "by libunwind: $got, not $want"
ways | grep -qE 'frames_by_rows=0 frames_by_libunwind=[1-9][0-9]* frames_by_frame_pointer=0' || fail "by libunwind: $(ways)"

# By its rows although libunwind was asked for.
F32=$UBP_BUILD/fixtures32/stack_deep
"$UBP_BUILD/fixtures32/exit_code" exit || skip "the rest needs 32-bit programs"
for KIND in cfi unwind; do
	our_stacks 3 "p:g/x $F32:leaf" "$F32" 5
	mv ours "ours.$KIND"
done
cmp ours.cfi ours.unwind || fail "32 bits: other stacks"
