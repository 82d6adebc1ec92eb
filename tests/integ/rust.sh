# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Rust panics through functions with return probes: caught, in threads that die of
# them, from destructors; as usual, stripped, and static where that can be
# built.
. "${0%/*}/lib.bash"
command -v rustc > /dev/null || skip "no Rust compiler"

cat > prog.rs <<'RS'
use std::panic;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
static ENTERED: AtomicI64 = AtomicI64::new(0);
static RETURNED: AtomicI64 = AtomicI64::new(0);
static DROPPED: AtomicI64 = AtomicI64::new(0);

#[no_mangle]
#[inline(never)]
pub extern "C-unwind" fn dropping(n: i64) -> i64 {
    ENTERED.fetch_add(1, Relaxed);
    let r = std::hint::black_box(n) + 1;
    RETURNED.fetch_add(1, Relaxed);
    r
}

struct Guard;
impl Drop for Guard {
    fn drop(&mut self) {
        DROPPED.fetch_add(dropping(1) - 1, Relaxed);
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C-unwind" fn frame(n: i64, bad: bool) -> i64 {
    ENTERED.fetch_add(1, Relaxed);
    let _guard = Guard;
    let r = if n > 0 {
        std::hint::black_box(frame(n - 1, bad))
    } else if std::hint::black_box(bad) {
        panic!("on purpose")
    } else {
        0
    };
    RETURNED.fetch_add(1, Relaxed);
    r + 1
}

// Catches, and returns itself.
#[no_mangle]
#[inline(never)]
pub extern "C-unwind" fn catching(n: i64) -> i64 {
    ENTERED.fetch_add(1, Relaxed);
    let r = match panic::catch_unwind(|| frame(n, n % 2 == 1)) {
        Ok(r) => r,
        Err(_) => -1,
    };
    RETURNED.fetch_add(1, Relaxed);
    std::hint::black_box(r)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    for n in 0..40 {
        let r = catching(n % 8);
        assert_eq!(r, if n % 2 == 1 { -1 } else { n % 8 + 1 });
    }
    for n in 0..10 {
        let thread = std::thread::spawn(move || frame(n, true));
        assert!(thread.join().is_err());
    }
    assert_eq!(frame(3, false), 4);
    let frames = (0..40).map(|n| n % 8 + 1).sum::<i64>() + (1..11).sum::<i64>() + 4;
    assert_eq!(DROPPED.load(Relaxed), frames);
    println!("entered {} returned {}", ENTERED.load(Relaxed), RETURNED.load(Relaxed));
}
RS
build() { rustc -O -g -o "$@" prog.rs 2> rustc.err; }
build dynamic || fail "cannot build: $(cat rustc.err)"
defs() { # FILE: offsets, so that it does not matter whether it is stripped
	local f offset
	for f in frame catching dropping; do
		offset=$("$UPROBE" --check -e "p:g/x ./$1:$f" | sed 's/.*:0x0*/0x/')
		defs+=(-e "p:r/$f ./$2:$offset n=$ARG1:s64" -e "r:r/${f}_ret ./$2:$offset \$retval:s64")
	done
}
sum() { grep -o " $1=[0-9]*" err.txt | awk -F= '{ n += $2 } END { print n + 0 }'; }
run() { # FILE HOW-RETURNS-ARE-CAUGHT
	"$UPROBE" --stats --lossless -o out.txt "${defs[@]}" -- "./$1" > stdout.txt 2> err.txt ||
		fail "$1: ended with $?: $(cat err.txt)"
	set -- "$@" $(sed -n 's/^entered \([0-9]*\) returned \([0-9]*\)$/\1 \2/p' stdout.txt)
	[ $# = 4 ] || fail "$1: it says '$(cat stdout.txt)'"
	[ "$(count ' (frame|catching|dropping): ')" = "$3" ] || fail "$1: not all entries"
	[ "$(count '_ret: ')" = "$4" ] || fail "$1: $(count '_ret: ') returns, not $4: $(cat err.txt)"
	expect_count 20 ' catching_ret: .* arg1=-1$'
	[ "$(sum "$2")" -ge 3 ] || fail "$1: returns not caught by $2: $(cat err.txt)"
	[ "$2" = at_rets ] || [ "$(sum missed)" = $(($3 - $4)) ] || fail "$1: $(cat err.txt)"
}
defs=(); defs dynamic dynamic
run dynamic hijacked
strip -o stripped dynamic
defs=(); defs dynamic stripped
run stripped hijacked
# The unwinder is inside: found by its name, or not at all.
if build static -C target-feature=+crt-static; then
	defs=(); defs static static
	run static hijacked
	strip -o static_stripped static
	defs=(); defs static static_stripped
	run static_stripped at_rets
fi
