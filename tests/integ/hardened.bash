# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# For tests of how a build of ubp is hardened. Sourced, behind lib.bash.

# linked_hard FILE: what the linker does for it.
linked_hard() {
	readelf -hldW "$1" > elf.txt || fail "readelf $1"
	grep -q '^ *Type: *DYN ' elf.txt || fail "$1 has fixed addresses"
	grep -q 'GNU_RELRO' elf.txt && grep -q 'FLAGS.*NOW' elf.txt || fail "$1 has no full RELRO"
	! grep -q 'TEXTREL' elf.txt || fail "$1 writes to its code"
	grep -q 'GNU_STACK .* RW ' elf.txt || fail "$1 has a stack that can be executed"
	! grep 'LOAD .* RWE ' elf.txt || fail "$1 has code that can be written"
}

# compiled_hard LIBRARY MARK PROBE: what the compiler did in it. Each object bears the MARK of branches that land
# where they should; PROBE is the instruction by which large frames touch each page of the stack ('': no frame is
# so large that this compiler does that).
compiled_hard() {
	local all marked n
	all=$(ar t "$1" | wc -l)
	marked=$(readelf -nW "$1" 2> /dev/null | grep -c "feature: $2") || :
	[ "$all" -gt 100 ] && [ "$marked" = "$all" ] || fail "$marked of $all objects in $1 have the mark '$2'"
	[ -z "$3" ] || n=$(objdump -d --no-show-raw-insn "$1" | grep -cE "$3")
	[ -z "$3" ] || [ "$n" -gt 20 ] || fail "$n places in $1 probe the stack"
	nm -A "$1" > names.txt || fail "nm $1"
	n=$(grep -E ' U __stack_chk_fail(_local)?$' names.txt | cut -d: -f2 | sort -u | wc -l)
	[ "$n" -gt $((all / 4)) ] || fail "$n of $all objects in $1 look after their stacks"
	n=$(grep -c ' U __[a-z_]*_chk$' names.txt)
	[ "$n" -gt 50 ] || fail "$n calls in $1 check their buffers"
}

# marked OBJECT...: how many of them bear the mark IBT, SHSTK.
marked() { readelf -nW "$@" 2> /dev/null | grep -c 'feature: IBT, SHSTK' || :; }

# marked_hard COMPILER PROGRAM...: the mark is in the programs, too. The linker takes it away where one thing that is linked has
# none: then that is named, and each object of the programs has it.
marked_hard() {
	local cc=$1 f file without=; shift
	for f in Scrt1.o crti.o crtbeginS.o crtendS.o crtn.o libc_nonshared.a libiberty.a; do
		file=$("$cc" -print-file-name="$f")
		[ -e "$file" ] || fail "$cc has no $f"
		[[ $f == *.a ]] || [ "$(marked "$file")" = 1 ] || without+=" $f"
		[[ $f != *.a ]] || [ "$(marked "$file")" = "$(ar t "$file" | wc -l)" ] || without+=" $f"
	done
	for f; do
		[ -n "$without" ] || [ "$(marked "$f")" = 1 ] || fail "$f has not the mark 'IBT, SHSTK'"
	done
	[ -z "$without" ] || echo "no program is marked: these, which others made, are not:$without"
	for f in "$UBP_BUILD"/cli/*/*.o "$UBP_BUILD"/cli/*/*/*.o; do
		[ "$(marked "$f")" = 1 ] || fail "$f has not the mark 'IBT, SHSTK'"
	done
}

# fortified COMPILER LIBRARY FLAG: the level of _FORTIFY_SOURCE is the highest that this compiler and its C library have. Less one,
# it is the flag that snprintf() is called with, in the third argument: FLAG is the instruction that sets that, as sed -E has it, with its number in parentheses.
fortified() {
	local most level
	most=$("$1" -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -E -dM -include features.h -xc /dev/null 2> /dev/null |
		awk '$2 == "__USE_FORTIFY_LEVEL" { print $3 }')
	[[ $most == [23] ]] || fail "level '$most' of _FORTIFY_SOURCE is all that $1 has"
	objdump -dr --no-show-raw-insn "$2" | sed -nE "s/.*$3.*/\1/p; s/.*__snprintf_chk.*/call/p" |
		awk '$1 == "call" && flag { print flag } { flag = $1 == "call" ? 0 : $1 }' | sort | uniq -c > flags.txt
	level=$(sort -rn flags.txt | awk 'NR == 1 { print $2 + 1 }')
	[ "$level" = "$most" ] || fail "_FORTIFY_SOURCE is $level, not $most: $(cat flags.txt)"
}
