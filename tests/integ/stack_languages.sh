# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks of programs by other compilers and with other C libraries: Rust without frame pointers,
# Go (.debug_frame; stripped: frame pointers), musl (no call frame information for its own code),
# static ones. As gdb finds them, or, where gdb does not, as they must be.
. "${0%/*}/lib.bash"
. "${0%/*}/stacks.bash"
need_arch x86_64
have gdb
missing=

# at FILE SYMBOL [BASE]: where that is in a process whose addresses are not random.
at() { printf '*0x%x' $((0x$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }') + ${3:-0x555555554000})); }

cat > prog.rs <<'RS'
use std::collections::BTreeMap;
#[inline(never)]
#[no_mangle]
pub extern "C" fn leaf(n: i32) -> i32 {
    std::hint::black_box(n)
}
#[inline(never)]
fn descend(n: i32, v: &mut Vec<i32>) -> i32 {
    if n == 0 {
        return leaf(n);
    }
    v.push(n);
    descend(n - 1, v) + 1
}
fn main() {
    let mut v = vec![3, 1, 2];
    descend(5, &mut v);
    v.sort_by(|a, b| {
        leaf(*a);
        a.cmp(b)
    });
    let t = std::thread::spawn(|| descend(3, &mut vec![]));
    t.join().unwrap();
    let m: BTreeMap<i32, i32> = v.iter().map(|x| (*x, leaf(*x))).collect();
    std::hint::black_box(m);
}
RS
if command -v rustc > /dev/null && rustc -g -O -C force-frame-pointers=no -o rust prog.rs 2> build.err; then
	AT=$(at rust leaf) as_gdb 12 ./rust:leaf ./rust
else
	missing+=' rustc'
fi

cat > prog.go <<'GO'
package main

import "os"

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func descend(n int) int {
	var room [40]int
	room[n] = n
	if n == 0 {
		return leaf(room[0])
	}
	return descend(n-1) + room[n]
}

func main() {
	if descend(5) != 16 {
		os.Exit(1)
	}
	c := make(chan int)
	for i := 0; i < 3; i++ {
		go func() { c <- descend(2) }()
		<-c
	}
}
GO
export GOCACHE=$UBP_BUILD/go-cache GOFLAGS=-mod=mod HOME=$PWD
if type -P go > /dev/null && command go build -o go prog.go 2> build.err &&
   command go build -ldflags '-s -w' -o go.stripped prog.go; then
	# Go tells of its frames in .debug_frame alone, which is not mapped: libunwind would guess.
	WAYS=cfi AT=$(at go main.leaf 0) as_gdb 4 ./go:main.leaf ./go
	our_stacks 4 "p:g/x ./go.stripped:main.leaf" ./go.stripped
	diff theirs ours || fail "Go: stripped it has other stacks"
else
	missing+=' go'
fi

src=$(cd "${0%/*}/../.." && pwd)/fixtures
if command -v musl-gcc > /dev/null; then
	musl-gcc -g -O2 -fomit-frame-pointer -o musl "$src/stack_deep.c" || fail "cannot build with musl"
	# musl-gcc links no .eh_frame_hdr, by which libunwind finds a function's frames.
	WAYS=cfi AT=$(at musl leaf) as_gdb 4 ./musl:leaf ./musl
	awk '{ print NF }' ours > frames
	musl-gcc -g -O2 -fomit-frame-pointer -static -o musl.static "$src/stack_deep.c" ||
		fail "cannot build with musl"
	our_stacks 4 "p:g/x ./musl.static:leaf" ./musl.static
	awk '{ print NF }' ours | diff frames - || fail "static: other stacks: $(cat ours)"
	# Its signal handlers return to code that nothing is said about; gdb stops there. What
	# interrupted raise(), in code of the same kind, is not found: the fault is.
	musl-gcc -g -O1 -fomit-frame-pointer -pthread -o musl_signals "$src/stack_signals.c" ||
		fail "cannot build with musl"
	our_stacks 4 "p:g/x ./musl_signals:leaf" ./musl_signals
	descend=$(nm -S musl_signals | awk '$4 == "descend" { print $1, $2 }')
	python3 - "$descend" <<'PY' || fail "$(cat ours)"
import sys
start, size = (int(x, 16) for x in sys.argv[1].split())
lo = start + 0x555555554000
for line in list(open("ours"))[1::2]:
    inside = [a for a in line.split() if lo <= int(a, 16) < lo + size]
    if len(inside) < 4:
        sys.exit(1)
PY
else
	missing+=' musl-gcc'
fi
if gcc -static -g -O2 -fomit-frame-pointer -o static "$src/stack_deep.c" 2> build.err; then
	# It has no .eh_frame_hdr, by which libunwind would find its tables.
	WAYS=cfi as_gdb 4 ./static:leaf ./static
else
	missing+=' gcc -static'
fi
[ -z "$missing" ] || skip "the rest needs$missing"
