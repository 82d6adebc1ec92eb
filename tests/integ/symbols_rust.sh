# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Rust names as people write them, in both of its manglings.
. "${0%/*}/lib.bash"
command -v rustc > /dev/null || skip "no Rust compiler"

cat > app.rs <<'RS'
mod module {
    #[inline(never)]
    pub fn func(n: i64) -> i64 {
        std::hint::black_box(n) + 1
    }
    #[inline(never)]
    pub fn largest<T: PartialOrd + Copy>(a: T, b: T) -> T {
        if std::hint::black_box(a) > b { a } else { b }
    }
    pub struct Point(pub i64);
    pub trait Norm {
        fn norm(&self) -> i64;
    }
    impl Norm for Point {
        #[inline(never)]
        fn norm(&self) -> i64 {
            std::hint::black_box(self.0) * 2
        }
    }
    impl Point {
        #[inline(never)]
        pub fn moved(&self, by: i64) -> Point {
            Point(std::hint::black_box(self.0) + by)
        }
    }
}
use module::Norm;
fn main() {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let n = module::func(std::hint::black_box(1)) + module::largest(2i64, 3) + module::largest(2u8, 3) as i64;
    let p = module::Point(n).moved(1);
    std::process::exit((p.norm() != 18) as i32);
}
RS
for mangling in legacy v0; do
	# Which one may be chosen differs from version to version.
	RUSTC_BOOTSTRAP=1 rustc -O -Z unstable-options -C codegen-units=1 -C symbol-mangling-version=$mangling -g -o $mangling app.rs 2> rustc.txt ||
		skip "rustc does not compile this: $(head -n 1 rustc.txt)"
	crate=$(nm $mangling | c++filt -i | sed -nE 's/.* ([a-z0-9]+)::module::func$/\1/p' | head -n 1)
	[ -n "$crate" ] || fail "$mangling: no module::func"
	"$UPROBE" -l ./$mangling > list || fail "-l"
	grep -qx "$crate::module::func" list || fail "$mangling: -l knows no func"
	"$UPROBE" --check "p:./$mangling:$crate::module::func" > got || fail "func"
	[ "$(wc -l < got)" = 1 ] && grep -q "^p:uprobes/${crate}_module_func " got || fail "$(cat got)"
	"$UPROBE" --check "p:./$mangling:cpp:$crate::module::largest" > got || fail "largest"
	[ "$(wc -l < got)" = 2 ] || fail "$mangling: largest: $(cat got)"
	"$UPROBE" --check "p:./$mangling:*::module::*" > got || fail "*::module::*"
	[ "$(wc -l < got)" -ge 4 ] || fail "$mangling: *::module::*: $(cat got)"
	norm=$(grep -E 'Norm.*::norm$' list) || fail "$mangling: -l knows no norm"
	"$UPROBE" --check "p:./$mangling:cpp:\"$norm\"" > got || fail "$norm"
	refused "no function '$crate::module::fucn' .* mean '$crate::module::func'" --check "p:./$mangling:$crate::module::fucn"

	NAME=$mangling start "$PWD/$mangling"
	trace -p "$PID" -e "p:./$mangling:$crate::module::func n=$ARG1:s64" -e "p:a/norm ./$mangling:cpp:\"$norm\"" \
		-e "p:b/large ./$mangling:$crate::module::largest%return"
	go $mangling
	trace_done
	finish $mangling
	expect_count 1 "${crate}_module_func: .* n=1\$"
	expect_count 1 'norm: '
	expect_count 2 'large: '
done
