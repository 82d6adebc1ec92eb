# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# C++ names as people write them: overloads, templates, operators, static functions of several
# files; lists against nm -C.
. "${0%/*}/lib.bash"
have g++

cat > app.cc <<'CC'
#include <cstdio>
#include <string>
#include <vector>
#define OUT_OF_LINE __attribute__((noinline, noclone)) __attribute__((noipa))
namespace ns {
struct Class {
	int v;
	OUT_OF_LINE int method(int x) { return v + x; }
	OUT_OF_LINE int method(const char *s) const { return v + s[0]; }
	OUT_OF_LINE Class operator+(const Class &o) const { return Class{v + o.v}; }
	OUT_OF_LINE bool operator<(const Class &o) const { return v < o.v; }
	OUT_OF_LINE int operator()(int a) { return v + a; }
};
OUT_OF_LINE int f(int a, char *b) { return a + *b; }
OUT_OF_LINE int f(int a) { return a + 1; }
OUT_OF_LINE unsigned f(unsigned int a) { return a + 1; }
OUT_OF_LINE std::string name(std::string s, const std::vector<int> &v) { return s + char('0' + v.size()); }
template <class T> OUT_OF_LINE T max_of(T a, T b) { return a > b ? a : b; }
}
OUT_OF_LINE int alone(int a) { return a + 2; }
OUT_OF_LINE int twice(int a) { return a; }
OUT_OF_LINE int twice(long a) { return (int)a; }
namespace { OUT_OF_LINE int hidden(int a) { return a + 3; } }
OUT_OF_LINE static int same(int a) { return a + 4; }
int in_other(int a);
int main()
{
	char b = 'x', line[8];
	ns::Class c{1}, d{2};
	int (*volatile lambda)(int) = [](int a) { return a + 5; };
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	return !(c.method(1) + c.method("s") + (c + d).v + ns::f(1, &b) + ns::f(2) + (int)ns::f(3u) +
	         ns::max_of(1, 2) + (int)ns::max_of(1.0, 2.0) + alone(1) + hidden(2) + (c < d) + c(3) +
	         twice(1) + twice(1l) + (int)ns::name("a", {1}).size() + lambda(1) + same(1) + in_other(1));
}
CC
cat > other.cc <<'CC'
__attribute__((noinline, noclone, noipa)) static int same(int a) { return a + 6; }
int in_other(int a) { return same(a); }
CC
g++ -O1 -g -o app app.cc other.cc || fail "g++"

# offset_of MANGLED
offset_of() { printf '0x%016x' "$(foffset_of app "$1")"; }
# is DEFINITION LISTING...: all and only these, in any order ("event mangled").
is() {
	local def=$1
	shift
	"$UPROBE" --check "$def" > got 2> err.txt || fail "$def: $(cat err.txt)"
	for line; do
		echo "p:uprobes/${line% *} ./app:$(offset_of "${line#* }")"
	done | sort > want
	sort got | diff want - || fail "$def"
	"$UPROBE" --check -e "$def" | sort | diff want - || fail "-e $def"
}
F_INT_PTR='ns_f _ZN2ns1fEiPc' F_INT='ns_f _ZN2ns1fEi' F_UINT='ns_f _ZN2ns1fEj'
METHODS=('ns_Class_method _ZN2ns5Class6methodEi' 'ns_Class_method _ZNK2ns5Class6methodEPKc')
is p:./app:ns::f "$F_INT_PTR" "$F_INT" "$F_UINT"
is p:./app:cpp:ns::f "$F_INT_PTR" "$F_INT" "$F_UINT"
is 'p:./app:cpp:"ns::f(int, char*)"' "$F_INT_PTR"
is 'p:./app:"ns::f(int, char*)"' "$F_INT_PTR"
is 'p:./app:cpp:ns::f(int,char*)' "$F_INT_PTR"
is 'p:./app:ns::f(int)' "$F_INT"
is 'p:./app:"ns::f( unsigned int )"' "$F_UINT"
# As it is copied from somewhere: blanks between parameters are no ends of words.
is 'p:./app:ns::f(int, char*)' "$F_INT_PTR"
is 'p:./app:cpp:ns::f(int, char *)' "$F_INT_PTR"
is 'p:./app:ns::Class::method(char const*) const' "${METHODS[1]}"
"$UPROBE" --check 'p:./app:ns::f(int, char*) a *b' > got || fail 'variables behind parameters with blanks'
grep -q '^p:uprobes/ns_f .* a=' got || fail "variables behind parameters with blanks: $(cat got)"
"$UPROBE" --check -e 'p:x ./app:ns::f(int, char*) n=%di' > got || fail 'a line with such parameters'
grep -q '^p:uprobes/x .* n=%di$' got || fail "a line with such parameters: $(cat got)"
refused 'hint: there are: .*ns::f\(int\)' --check 'p:./app:ns::f(int, long)'
refused 'hint: there are: .*ns::f\(int\)' --check 'p:./app:ns::f(int, long) a'
is p:./app:ns::Class::method "${METHODS[@]}"
is 'p:./app:"ns::Class::method(char const*) const"' "${METHODS[1]}"
is 'p:./app:ns::Class::operator+' 'ns_Class_operator _ZNK2ns5ClassplERKS0_'
is 'p:./app:ns::Class::operator<' 'ns_Class_operator _ZNK2ns5ClassltERKS0_'
is 'p:./app:ns::Class::operator()' 'ns_Class_operator _ZN2ns5ClassclEi'
is 'p:./app:ns::max_of' 'ns_max_of_int _ZN2ns6max_ofIiEET_S1_S1_' 'ns_max_of_double _ZN2ns6max_ofIdEET_S1_S1_'
is 'p:./app:ns::max_of<int>' 'ns_max_of_int _ZN2ns6max_ofIiEET_S1_S1_'
is 'p:./app:"ns::max_of<int>(int, int)"' 'ns_max_of_int _ZN2ns6max_ofIiEET_S1_S1_'
is 'p:./app:"(anonymous namespace)::hidden"' 'anonymous_namespace_hidden _ZN12_GLOBAL__N_16hiddenEi'
is 'p:./app:ns::name' "ns_name $(nm app | awk '$3 ~ /^_ZN2ns4name/ { print $3 }')"
is 'p:./app:alone' 'alone _Z5alonei'
is 'p:./app:cpp:alone' 'alone _Z5alonei'
is 'p:./app:cpp:twice' 'twice _Z5twicei' 'twice _Z5twicel'
is 'p:./app:_Z5twicel' '_Z5twicel _Z5twicel'
is 'p:./app:cpp:main' 'main main'
# Patterns: of short names, of whole ones, of mangled ones; each function has an event.
is 'p:./app:cpp:ns::f*' 'ns_f _ZN2ns1fEi' 'ns_f_1 _ZN2ns1fEiPc' 'ns_f_2 _ZN2ns1fEj'
is 'p:./app:twic*' 'twice _Z5twicei' 'twice_1 _Z5twicel'
is 'p:./app:cpp:ns::f(int*)' 'ns_f _ZN2ns1fEi' 'ns_f _ZN2ns1fEiPc'
is 'p:./app:_ZN2ns1f*' 'ns_f _ZN2ns1fEi' 'ns_f_1 _ZN2ns1fEiPc' 'ns_f_2 _ZN2ns1fEj'
"$UPROBE" --check --exclude '*(int)' --exclude '_ZN2ns1fEj' 'p:./app:cpp:ns::f*' > got || fail "--exclude"
[ "$(cat got)" = "p:uprobes/ns_f ./app:$(offset_of _ZN2ns1fEiPc)" ] || fail "--exclude: $(cat got)"
refused 'no function of .* matches' --check --exclude '*' 'p:./app:cpp:ns::f*'

# Names, offsets, returns, counters behind them; files of definitions.
"$UPROBE" --check "p:my/ev ./app:ns::f a=$ARG1" > got || fail "a name"
[ "$(grep -c "^p:my/ev .* a=$ARG1\$" got)" = 3 ] || fail "a name: $(cat got)"
"$UPROBE" --check 'r:./app:cpp:"ns::f(int)"' | grep -q '^r:uprobes/ns_f ' || fail "r:"
"$UPROBE" --check './app:ns::f(int)%return(0x10)' | grep -q '^r:uprobes/ns_f .*(0x10)$' || fail "%return"
"$UPROBE" --check './app:"ns::f(int)"%return(0x10)' | grep -q '^r:uprobes/ns_f .*(0x10)$' || fail "%return"
at=$(foffset_of app _ZN2ns1fEiPc)
next=$(objdump -d --disassemble=_ZN2ns1fEiPc app | awk '/^ *[0-9a-f]+:/ && ++n == 2 { sub(":", "", $1); print $1; exit }')
start=$(nm app | awk '$3 == "_ZN2ns1fEiPc" { print $1 }')
off=$(printf '0x%x' $((0x$next - 0x$start)))
"$UPROBE" --check "p:./app:cpp:ns::f(int,char*)+$off" > got || fail "an offset"
[ "$(cat got)" = "p:uprobes/ns_f_int_char__$off ./app:$(printf '0x%016x' $((at + off)))" ] ||
	[ "$(cat got)" = "p:uprobes/ns_f_$off ./app:$(printf '0x%016x' $((at + off)))" ] || fail "$(cat got)"
refused "'ns::f' is 3 functions of ./app: an offset" --check "p:./app:ns::f+$off"
refused 'is only [0-9]+ bytes long' --check 'p:./app:ns::f(int)+4000'
printf '%s\n' '# a comment' 'p:a/lam ./app:"main::{lambda(int)#1}::_FUN(int)" a='"$ARG2 # one" > defs
"$UPROBE" --check -f defs > got || fail "a lambda"
grep -q "^p:a/lam .* a=$ARG2\$" got || fail "a lambda: $(cat got)"

# What is not clear, and what is not there.
refused "'twice' is 2 functions of ./app: twice\((int|long)\) at 0x[0-9a-f]+, twice\((int|long)\) at 0x[0-9a-f]+; choose one, or all by cpp:twice" \
	--check p:./app:twice
refused "no function 'ns::g' in ./app; did you mean 'ns::f'" --check p:./app:ns::g
refused "no function 'alnoe' in ./app; did you mean 'alone'" --check p:./app:alnoe
refused 'No name is specified' --check 'p:./app:cpp:""'
refused 'Invalid behind a name' --check 'p:./app:"ns::f(int)"x'
refused 'No offset behind' --check --strict -e "p:g/e $PWD/app:ns::f"

# Static functions of one name: all, or that of a file; without a table of files, by DWARF.
"$UPROBE" --check 'p:./app:same@*' > got || fail "same@*"
[ "$(grep -c '^p:uprobes/same ' got)" = 2 ] || fail "same@*: $(cat got)"
objcopy -N app.cc -N other.cc app nofile || fail "objcopy"
readelf -sW nofile | grep -q "FILE .* other.cc" && fail "objcopy leaves the names of files"
for prog in app nofile; do
	for file in app.cc other.cc; do
		"$UPROBE" --check "p:./$prog:same@$file" > got 2> err.txt || fail "$prog: same@$file: $(cat err.txt)"
		addr2line -e $prog "0x$(nm $prog | sort | awk -v o="$(sed 's/.*:0x0*//' got)" '$1 ~ o "$" { print $1; exit }')" |
			grep -q "/$file:" || fail "same@$file of $prog is $(cat got)"
	done
done
refused "'same' is 2 functions of ./app: same@app.cc at 0x[0-9a-f]+, same@other.cc at .*; choose one, or all by cpp:same" --check p:./app:same
refused "no function 'same'|nor one of such a file" --check p:./app:same@none.cc

# They are hit.
start "$PWD/app"
trace -p "$PID" -e "p:./app:ns::f a=$ARG1:s32" -e "p:./app:cpp:ns::Class::* me=$ARG1" \
	-e 'p:./app:"(anonymous namespace)::hidden" a='$ARG1:s32 -e 'r:out/ret ./app:ns::max_of<int> v=$retval:s32' \
	-e "p:./app:same@other.cc a=$ARG1:s32"
go
trace_done
finish
expect_count 1 'ns_f: .* a=1$'
expect_count 1 'ns_f: .* a=2$'
expect_count 1 'ns_f: .* a=3$'
expect_count 5 'ns_Class_[a-z_0-9]+: '
expect_count 1 'anonymous_namespace_hidden: .* a=2$'
expect_count 1 'ret: .* v=2$'
expect_count 1 'same: .* a=1$'

# Lists: sorted, each once, as nm has them; filtered; with a word on how.
"$UPROBE" -l ./app > list || fail "-l"
LC_ALL=C sort -uc list || fail "-l: not sorted"
# names_of OPTION... FILE: of functions, as nm has them.
names_of() {
	nm -C --format=sysv --defined-only "$@" |
		awk -F '|' '$4 ~ /FUNC/ { gsub(/ +$/, "", $1); print $1 }' | sed 's/@@\?[A-Z].*//' | LC_ALL=C sort -u
}
names_of app > want
[ "$(wc -l < want)" -gt 20 ] || fail "nm finds nothing"
LC_ALL=C comm -23 want <(LC_ALL=C sort -u list) > missing
[ ! -s missing ] || fail "-l lacks $(head -n 5 missing)"
"$UPROBE" -l ./app 'ns::Class*' > list || fail "-l PATTERN"
[ "$(wc -l < list)" = 5 ] || fail "-l: $(cat list)"
"$UPROBE" -l ./app 'ns::Class*' --exclude '*operator*' > list || fail "-l --exclude"
[ "$(cat list)" = "ns::Class::method(char const*) const
ns::Class::method(int)" ] || fail "-l --exclude: $(cat list)"
"$UPROBE" -l ./app --explain > list || fail "-l --explain"
grep -qxE 'ns::f\(int, char\*\)  (jump( .*)?|breakpoint: .+)' list || fail "--explain: $(head -n 5 list)"
# As uprobe --explain says of each.
grep -E '^ns::' list | head -n 5 | while read -r line; do
	name=${line%%  *} how=${line#*  }
	case $how in
	jump*) "$UPROBE" --explain "p:./app:\"$name\"" | grep -q 'jump' ;;
	breakpoint:*) "$UPROBE" --explain "p:./app:\"$name\"" | grep -qF "${how#breakpoint: }" ;;
	esac || fail "$line; but $("$UPROBE" --explain "p:./app:\"$name\"" 2>&1)"
done || exit 1

# Real ones.
lib=$(ldd app | awk '/libstdc/ { print $3 }')
"$UPROBE" -l "$lib" > list || fail "-l libstdc++"
names_of -D "$lib" | grep -v 'operator|' > want
LC_ALL=C comm -13 <(LC_ALL=C sort list) want > missing
[ ! -s missing ] || fail "libstdc++: $(wc -l < missing) are missing: $(head -n 3 missing)"
[ "$(wc -l < want)" -gt 1000 ] || fail "nm finds nothing"
"$UPROBE" --check "p:$lib:std::ios_base::Init::Init" > got || fail "std::ios_base::Init::Init"
[ "$(wc -l < got)" -ge 1 ] || fail "std::ios_base::Init::Init"
"$UPROBE" --check "p:$lib:\"std::locale::name[abi:cxx11]() const\"" > got || fail "[abi:cxx11]"
grep -q '^p:uprobes/std_locale_name_abi_cxx11 ' got || fail "[abi:cxx11]: $(cat got)"
# Nobody writes these tags: without them the name is taken if no other is that already.
"$UPROBE" --check "p:$lib:\"std::locale::name() const\"" > got || fail "std::locale::name() const"
grep -q '^p:uprobes/std_locale_name ' got || fail "name() const: $(cat got)"
cat > tags.cc << 'END'
#include <string>
namespace ns { struct S { std::string name(int n); }; }
std::string ns::S::name(int n) { return std::string(n, 'x'); }
std::string mk(int n) { return std::string(n, 'x'); }
int main(int argc, char **) { return mk(argc).size() + ns::S().name(3).size() - 4; }
END
g++ -O0 -o tags tags.cc || fail "g++"
for name in cpp:mk ns::S::name '"mk(int)"' '"ns::S::name(int)"' 'cpp:ns::S::name'; do
	"$UPROBE" -o got "p:x ./tags:$name" -- ./tags || fail "$name"
	[ "$(grep -c ' x: ' got)" = 1 ] || fail "$name: $(cat got)"
done
