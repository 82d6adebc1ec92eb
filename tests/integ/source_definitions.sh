# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Definitions by source: what they become, beside plain ones, and what is said of those that
# cannot be.
. "${0%/*}/lib.bash"
need_arch x86_64 # frames
have gcc

SOURCE=$UBP_SRC/fixtures/source.c
gcc -O0 -g -o plain "$SOURCE" || fail gcc
gcc -O2 -g -o fast "$SOURCE" || fail gcc
cp fast stripped && strip -g stripped

# becomes DEFINITION LINE...: the listing, addresses left out.
becomes() {
	local definition=$1
	shift
	"$UPROBE" --check "$definition" > out.txt 2> err.txt || fail "$definition"
	sed 's/0x0*[0-9a-f]*/0x/' out.txt > got.txt
	printf '%s\n' "$@" > want.txt
	diff got.txt want.txt || fail "$definition"
}
# refused DEFINITION TEXT CARET: CARET is what stands above the '^'.
refused() {
	"$UPROBE" --check "$1" > out.txt 2> err.txt && fail "taken: $1"
	grep -qF -- "$2" err.txt || fail "$1: not '$2'"
	[ $# = 2 ] && return
	local caret
	caret=$(sed -n 3p err.txt)
	[[ $(sed -n 2p err.txt) =~ ^.{$((${#caret} - 1))}(.*) ]]
	[ "${BASH_REMATCH[1]#"$3"}" != "${BASH_REMATCH[1]}" ] || fail "$1: caret at '${BASH_REMATCH[1]}', not '$3'"
}

# --- what they become; frames of -O0 are the same wherever gcc is
becomes p:./plain:parse:2 'p:uprobes/parse_L2 ./plain:0x'
becomes 'p:./plain:source.c:44 n %di' 'p:uprobes/source_L44 ./plain:0x n=-28(%bp):s32 arg2=%di' 2> /dev/null ||
	fail "file and line"
becomes 'p:a/b ./plain:sum n first=v[0] %si x=%di:u8' \
	'p:a/b ./plain:0x n=-28(%bp):s32 first=+0(-24(%bp)):s32 arg3=%si x=%di:u8'
becomes 'p:./plain:parse $params' 'p:uprobes/parse ./plain:0x req=-24(%bp):x64 letter=-28(%bp):char'
becomes 'p:./plain:parse req->at[1].y req->at[0].x:u16 y=letter:u8' \
	'p:uprobes/parse ./plain:0x y_2=+26(-24(%bp)):s16 x=+20(-24(%bp)):u16 y=-28(%bp):u8'
becomes 'p:./plain:parse as_long_a_name_as_args_may_have_=letter text=req->name:ustring[as_long_a_name_as_args_may_have_]' \
	'p:uprobes/parse ./plain:0x as_long_a_name_as_args_may_have_=-28(%bp):char text=+0(+8(-24(%bp))):ustring[as_long_a_name_as_args_may_have_]'
# Dereferences written around a pointer, or what has an address.
becomes 'p:./plain:parse +0(req->name):string n=+0x10(+8(req)) +u-4((*req).name) v=+16(req->at):s16 &letter' \
	'p:uprobes/parse ./plain:0x name=+0(+8(-24(%bp))):string n=+0x10(+8(-24(%bp))) name_2=+u-4(+8(-24(%bp))) v=+36(-24(%bp)):s16 letter=%bp-28:x64' \
	2> /dev/null || fail "dereferences"
# Inlined wherever it is called: as often as that.
"$UPROBE" --check p:./fast:twice > out.txt || fail "twice"
[ "$(grep -c '^p:uprobes/twice ./fast:0x' out.txt)" = 3 ] || fail "copies of twice()"
# At the entry, where nothing is optimised, only if no variable is wanted.
entry=$(nm plain | sed -n 's/^0*\([0-9a-f]*\) t parse$/\1/p')
"$UPROBE" --check p:./plain:parse:0 | grep -q "0x0*$entry\$" || fail "parse:0 is not the entry"
for place in parse parse:0 'par*e'; do
	"$UPROBE" --check "p:./plain:$place letter" > out.txt || fail "$place letter"
	grep -q "0x0*$entry " out.txt && fail "$place: a variable before it has its value"
done
for compiler in gcc clang; do
	command -v $compiler > /dev/null || continue
	$compiler -O0 -g -o other "$SOURCE" || fail "$compiler"
	for place in parse+1 parse+4 "0x$(nm other | sed -n 's/^0*\([0-9a-f]*\) t parse$/\1/p')"; do
		refused "p:./other:$place letter" 'not made yet' letter
	done
	"$UPROBE" 'p:./other:parse:0 letter len=req->len' -- ./other > out.txt 2> err.txt || fail "parse:0 of $compiler"
	grep -q "letter='a' len=5" out.txt || fail "parse:0 of $compiler: values"
done

# --- values
"$UPROBE" 'p:./plain:parse name=req->name:string len=req->len letter kind=req->kind' 'len > 2' -- ./plain \
	> out.txt 2> err.txt || fail "values"
grep -o 'name=.*' out.txt > got.txt
printf '%s\n' "name=\"hello\" len=5 letter='a' kind=KIND_WORD" \
	"name=\"request\" len=7 letter='e' kind=KIND_NONE" | diff - got.txt || fail "values"

# --- beside plain ones, line by line, all or nothing
cat > defs <<-'DEFS'
	# several
	p:t/one ./fast:sum
	p:t/two ./fast:twice
	p:t/three ./fast:parse:5 letter
	p:t/four ./fast:main
DEFS
"$UPROBE" --check -f defs > out.txt 2> err.txt || fail "a file"
[ "$(sed 's/ .*//' out.txt | uniq | tr '\n' ' ')" = "p:t/one p:t/two p:t/three p:t/four " ] || fail "their order"
echo 'p:t/five ./fast:parse:5 no_such' >> defs
"$UPROBE" --check -f defs > out.txt 2> err.txt && fail "a bad line was taken"
grep -q 'defs:6: .*no_such' err.txt || fail "which line is bad"
printf 'p:t/a ./fast:sum\np:t/b ./fast:no_such\np:t/c ./fast:twice\n' > defs
"$UPROBE" --check -f defs > out.txt 2> err.txt && fail "an unknown function was taken"
grep -q 'defs:2: ' err.txt || fail "which function is not known"
printf 'p:t/a ./fast:twice\n-:t/a\np:t/b ./fast:twice value\n' > defs
"$UPROBE" --check -f defs > out.txt 2> err.txt && fail "deletions beside sources"
grep -q 'defs:3: .*deletions' err.txt || fail "deletions beside sources: no reason"

# --- what cannot be
refused 'p:./plain:parse:40' 'has no code; 13 has' 'parse:40'
refused 'p:./plain:parse:3' 'line 3 of parse' 'parse:3'
refused 'p:./plain:source.c:3' 'no code' 'source.c:3'
refused 'p:./plain:other.c:3' "no source file 'other.c'" 'other.c:3'
refused 'p:./plain:pars:3' "did you mean 'parse'" 'pars:3'
refused 'p:./plain:parse x=leter' "did you mean 'letter'" 'leter'
refused 'p:./plain:parse req->nam' "nam" 'nam'
refused 'r:./plain:parse $retval letter' 'when the function returns' 'letter'
refused 'r:./plain:parse:3' 'not of a line' 'parse:3'
refused 'r:./fast:twice' 'it does not return' 'twice'
refused 'p:./stripped:parse:3' 'no debug information'
refused 'p:./stripped:parse req' 'no debug information'
refused 'p:./fast:no_such' "no function 'no_such'" 
refused 'p:./plain:parse $params:u8' '$params' 
refused 'p:./plain:parse:2 +0(req->len):u8' 'is no pointer' 'req->len'
refused 'p:./plain:parse +0(req->nam):u8' "no member 'nam'" 'nam'
refused 'p:./plain:parse a=+0(+8(req):u8' 'brace is not closed'
refused 'p:./plain:parse +0(req):u9' 'Unknown type' 'u9'
refused 'p:./plain:parse letter:u9' 'Unknown type' 'u9'
refused 'p:./plain:parse letter:u16' 'has 1 byte, not 2' 'letter'
refused 'p:./plain:parse:99999999999' 'has no code' 'parse:9'
refused 'p:./plain:parse+4:2' 'a line has no offset' 'parse+4'
"$UPROBE" --strict --check 'p:t/x ./plain:parse:3' > out.txt 2> err.txt && fail "--strict takes source lines"

# --- two files of a name
mkdir a b
printf 'int f(int x)\n{\n\treturn x + 1;\n}\n' > a/same.c
printf 'int f(int);\nint main(void)\n{\n\treturn f(1);\n}\n' > b/same.c
gcc -g -o two a/same.c b/same.c || fail gcc
refused p:./two:same.c:4 "is several source files" same.c:4
becomes p:./two:b/same.c:4 'p:uprobes/same_L4 ./two:0x'

# --- another name of a function, that the debug information does not tell
printf 'int real(int x)\n{\n\treturn x + 1;\n}\nextern int other(int) __attribute__((alias("real")));\nint main(void)\n{\n\treturn other(1) - 2;\n}\n' > alias.c
gcc -O2 -g -o alias alias.c || fail gcc
"$UPROBE" -e 'p:a/b ./alias:other x' -e 'p:a/c ./alias:other:2' -- ./alias > out.txt 2> err.txt || fail "an alias"
"$UPROBE" --vars other ./alias > out.txt 2> err.txt || fail "variables of an alias"
grep -q x out.txt || fail "variables of an alias"
"$UPROBE" --lines-of other ./alias > out.txt 2> err.txt || fail "lines of an alias"
"$UPROBE" 'p:libc:malloc bytes' -- ls > out.txt 2> err.txt || grep -q 'no debug information' err.txt || fail "malloc()"

# --- types in units of their own; all of it in a file of its own
cat > units.cc <<-'CC'
	#include <cstdio>
	enum class Color : unsigned char { Red = 1, Blue = 200 };
	struct Pair { int a; short b; Color c; };
	__attribute__((noinline)) int look(Pair *p, Color c)
	{
		std::printf("%s", "");
		return p->a + (int)c;
	}
	int main()
	{
		Pair p{1, -2, Color::Red};
		return look(&p, Color::Blue) - 201;
	}
CC
for compiler in g++ clang++; do
	command -v $compiler > /dev/null || continue
	for how in -fdebug-types-section "-fdebug-types-section -gdwarf-4" -gsplit-dwarf "-gsplit-dwarf -gdwarf-4"; do
		# shellcheck disable=SC2086 # options, split on purpose
		$compiler -std=c++11 -O0 -g $how -o units units.cc || fail "$compiler $how"
		"$UPROBE" 'p:./units:units.cc:7 p->a p->b c pc=p->c' -- ./units > out.txt 2> err.txt || fail "$compiler $how"
		grep -q 'a=1 b=-2 c=Blue pc=Red' out.txt || fail "$compiler $how"
		"$UPROBE" --vars look ./units > out.txt || fail "$compiler $how"
		grep -q 'Pair\*	p' out.txt || fail "$compiler $how: names of types"
	done
done

# --- lines without the source
"$UPROBE" --lines-of f ./two > out.txt || fail "--lines-of"
[ "$(sed -n 3,4p out.txt)" = "$(printf '         {\n      2  \treturn x + 1;')" ] || fail "lines of f()"
mv a/same.c a/moved.c
"$UPROBE" --lines-of f ./two > out.txt || fail "--lines-of without the source"
sed 1d out.txt > got.txt
printf '%s\n' '(no source there: No such file or directory)' '      0' '      2' '      3' | diff - got.txt ||
	fail "--lines-of without the source"
"$UPROBE" --lines-of g ./two > out.txt 2> err.txt && fail "lines of no function"
grep -q "no function 'g'" err.txt || fail "lines of no function: no reason"

# --- a value that clang moved to the stack, and says to be the address of where it is
cat > spill.c <<-'C'
	#include <stdbool.h>
	#include <stdio.h>
	volatile int sink;
	__attribute__((noinline)) int spilled(bool flag, unsigned n)
	{
		__asm__ volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15", "rax", "rcx", "rdx", "rsi",
				 "rdi", "r8", "r9", "r10", "r11");
		sink = 1;
		return flag ? sink : (int)n;
	}
	int main(void)
	{
		printf("%d\n", spilled(true, 3) + spilled(false, 4));
	}
C
if command -v clang > /dev/null; then
	clang -O2 -g -o spill spill.c || fail clang
	"$UPROBE" 'p:./spill:spilled flag n' -- ./spill > out.txt 2> err.txt || fail "at the entry"
	[ "$(grep -o 'flag=.*' out.txt | tr '\n' ' ')" = "flag=true n=3 flag=false n=4 " ] || fail "masked values"
	if "$UPROBE" 'p:./spill:spilled:4 flag' -- ./spill > out.txt 2> err.txt; then
		[ "$(grep -o 'flag=.*' out.txt | tr '\n' ' ')" = "flag=true flag=false " ] || fail "a wrong value"
	else
		grep -q 'mistake of the compiler' err.txt || fail "a value on the stack"
	fi
fi

# --- a function of C++, of Rust
cat > app.cc <<-'CC'
	#include <cstdio>
	namespace shop {
	template <typename T> struct Cart {
		T total;
		__attribute__((noinline)) T add(T price, int n)
		{
			total += price * n;
			return total;
		}
	};
	}
	int main(int argc, char **)
	{
		shop::Cart<int> cart{argc};
		printf("%d\n", cart.add(3, 4));
	}
CC
if command -v g++ > /dev/null; then
	g++ -O0 -g -o app app.cc || fail g++
	for name in add Cart::add shop::Cart::add 'shop::Cart<int>::add'; do
		"$UPROBE" "p:./app:$name:2 price n" -- ./app > out.txt 2> err.txt || fail "C++: $name"
		grep -q 'price=3 n=4' out.txt || fail "C++: $name"
	done
fi
if command -v rustc > /dev/null; then
	cat > app.rs <<-'RS'
		mod shop {
		    pub struct Cart { pub total: u32 }
		    impl Cart {
		        #[inline(never)]
		        pub fn add(&mut self, price: u32, n: u8) -> u32 {
		            self.total += price * n as u32;
		            self.total
		        }
		    }
		}
		fn main() {
		    let mut cart = shop::Cart { total: std::env::args().count() as u32 };
		    println!("{}", cart.add(3, 4));
		}
	RS
	rustc -g -o app app.rs 2> err.txt || fail rustc
	for name in shop::Cart::add Cart::add app::shop::Cart::add; do
		"$UPROBE" "p:./app:$name:1 price n self.total" -- ./app > out.txt 2> err.txt || fail "Rust: $name"
		grep -q 'price=3 n=4 total=1' out.txt || fail "Rust: $name"
	done
else
	skip "the rest needs rustc"
fi
