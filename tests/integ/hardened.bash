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
