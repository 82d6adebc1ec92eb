# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Names that a stripped program does not have, from the files that distributions split off;
# and what does not belong to it, or is no such file.
. "${0%/*}/lib.bash"
have gcc
have objcopy
have eu-strip
have xz
unset DEBUGINFOD_URLS

cat > prog.c <<'C'
#include <stdio.h>
__attribute__((noinline)) static int hidden(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline)) int exported(int n) { __asm__ volatile(""); return hidden(n) + hidden(n); }
int main(void)
{
	char line[8];
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	return exported(1) != 4;
}
C
gcc -O1 -g -rdynamic -Wl,--build-id -o full prog.c || fail "gcc"
gcc -O1 -g -rdynamic -Wl,--build-id=none -o full_noid prog.c || fail "gcc"
sed 's/n + 1/n + 2/' prog.c > other.c
gcc -O1 -g -rdynamic -Wl,--build-id -o other other.c || fail "gcc"
at=$(foffset_of full hidden)
id=$(readelf -n full | awk '/Build ID/ { print $3 }')
by_id=.build-id/${id:0:2}/${id:2}.debug

# finds FILE OPTION...: hidden() is where it should be.
finds() {
	local file=$1 got
	shift
	got=$("$UPROBE" "$@" --check "p:./$file:hidden" 2> err.txt) || fail "$file: $(cat err.txt)"
	[ "$got" = "p:uprobes/hidden ./$file:$(printf '0x%016x' "$at")" ] || fail "$file: $got, not $at"
	"$UPROBE" "$@" -l "./$file" | grep -qx hidden || fail "$file: -l knows no hidden()"
	"$UPROBE" "$@" --check "p:./$file:hid*" | grep -q "p:uprobes/hidden " || fail "$file: hid*"
}

# Nothing there: told what was sought, and what helps.
strip -o bare full
refused "no function 'hidden' in \./bare .*$by_id: install the -dbgsym package, or use --symbols" \
	--check p:./bare:hidden
refused "no function .* matches 'hid\*' .*stripped: .*-dbgsym" --check 'p:./bare:hid*'
refused "no function 'hiddne' in ./bare" --check p:./bare:hiddne

# main() of a program that exports nothing; where it is can be told by a number.
strip -o no_names "$FIXTURES/hello" || fail "strip"
refused "no function 'main' in \./no_names: it has no function symbols \(stripped\), and .*-dbgsym package, or use --symbols, .*; or give an OFFSET" \
	--check p:./no_names:main
main_at=$(foffset_of "$FIXTURES/hello" main)
"$UPROBE" --check "p:./no_names:$main_at" > out.txt || fail "p:./no_names:$main_at: refused"

# By build-id, in a tree.
mkdir -p "tree/${by_id%/*}"
objcopy --only-keep-debug full "tree/$by_id" || fail "objcopy"
finds bare --debug-dir tree
finds bare --debug-dir nowhere --debug-dir "$PWD/tree"
start "$PWD/bare"
trace -p "$PID" --debug-dir tree "p:./bare:hidden n=$ARG1:s32"
go
trace_done
finish
expect_count 2 'hidden: .* n=1$'

# Its file belongs to another build, or is none.
objcopy --only-keep-debug other "tree/$by_id"
refused "hidden.*belongs to another build: its build-id is [0-9a-f]+, wanted $id" \
	--debug-dir tree --check p:./bare:hidden
echo "no ELF file" > "tree/$by_id"
refused "tree/$by_id is no" --debug-dir tree --check p:./bare:hidden
objcopy --only-keep-debug full whole
for n in 20 64 100 1000 3000; do
	head -c $n whole > "tree/$by_id"
	refused "no function 'hidden'" --debug-dir tree --check p:./bare:hidden
done
rm "tree/$by_id" && mkfifo "tree/$by_id"
refused "no function 'hidden'" --debug-dir tree --check p:./bare:hidden
rm -r tree

# By name: near it, in .debug, in a tree, in a folder.
strip -o linked full_noid
objcopy --only-keep-debug full_noid linked.debug
objcopy --add-gnu-debuglink=linked.debug linked
at=$(foffset_of full_noid hidden)
finds linked
mkdir .debug flat
mv linked.debug .debug
finds linked
mv .debug/linked.debug flat
finds linked --debug-dir flat
refused "no linked.debug near it or in /usr/lib/debug" --check p:./linked:hidden
mkdir -p "tree$PWD"
mv flat/linked.debug "tree$PWD"
finds linked --debug-dir tree
# The checksum is another's.
echo >> "tree$PWD/linked.debug"
refused "belongs to another build: its checksum" --debug-dir tree --check p:./linked:hidden
# A name is no path, and a file is not its own debug file.
cp full_noid self
objcopy --strip-all self self.bare && cp self.bare self
objcopy --add-gnu-debuglink=self self 2> /dev/null
refused "no function 'hidden'" --check p:./self:hidden

# As eu-strip does it.
at=$(foffset_of full hidden)
eu-strip -f eu.debug -o eu full || fail "eu-strip"
finds eu

# As distributions pack the names of functions (Fedora's minidebuginfo).
packed() { # packed FILE INTO
	nm -D "$1" --format=posix --defined-only | awk '{ print $1 }' | sort > dynsyms
	nm "$1" --format=posix --defined-only | awk '$2 ~ /[TtD]/ { print $1 }' | sort > funcsyms
	comm -13 dynsyms funcsyms > keep
	objcopy --only-keep-debug "$1" mini.full
	objcopy -S --remove-section .gdb_index --remove-section .comment \
		--keep-symbols=keep mini.full mini 2> /dev/null || fail "objcopy: mini"
	xz --keep --force mini
	strip -o "$2" "$1"
	objcopy --add-section .gnu_debugdata="${3:-mini.xz}" "$2" || fail "objcopy: $2"
}
packed full packed
finds packed
# Corrupt, cut, not ours, or a bomb: 256 MiB of zeros in a few KiB.
printf 'no xz' > junk
packed full corrupt junk
refused '.gnu_debugdata of ./corrupt is corrupt' --check p:./corrupt:hidden
head -c 200 mini.xz > cut.xz
packed full cut cut.xz
refused '.gnu_debugdata of ./cut is corrupt' --check p:./cut:hidden
echo text | xz > text.xz
packed full text text.xz
refused 'no ELF file' --check p:./text:hidden
head -c 268435456 /dev/zero | xz -0 -T1 > bomb.xz
packed full bomb bomb.xz
(ulimit -v 400000 && "$UPROBE" --check p:./bomb:hidden 2> err.txt) && fail "a bomb"
grep -q '.gnu_debugdata of ./bomb is too large)' err.txt || fail "a bomb: $(cat err.txt)"
"$UPROBE" --check p:./bomb:exported > /dev/null || fail "a bomb: exported()"

# Given.
finds bare --symbols full
finds bare --symbols whole
strip -o bare_noid full_noid
at=$(foffset_of full_noid hidden)
finds bare_noid --symbols full_noid
refused 'other is not of this build: its build-id is [0-9a-f]+, not' --symbols other -l ./bare
refused 'no function .*other is not of this build' --symbols other --check p:./bare:hidden
refused 'other is not of this build: it has a build-id' --symbols other -l ./bare_noid
gcc -O1 -g -rdynamic -Wl,--build-id=none -DX -include stdlib.h -o other_noid -x c - <<< 'int main(void) { abort(); }'
refused 'is not of this build: its .text' --symbols other_noid -l ./bare_noid
refused 'missing: No such file' --symbols missing -l ./bare
refused 'junk: no ELF file|junk is no ELF file' --symbols junk -l ./bare
# Of several files it is one's; it must be one's.
"$UPROBE" --symbols full --check -e p:./bare:hidden -e "p:libc:getenv" > /dev/null || fail "two files"
refused 'other is not of this build' --symbols other -p $$ p:bash:readline

# Prelinked, or linked elsewhere: symbols are where the file is now.
gcc -O1 -g -rdynamic -Wl,--build-id,-Ttext-segment=0x200000 -o moved prog.c || fail "gcc"
at=$(foffset_of moved hidden)
strip -o moved_bare moved
finds moved_bare --symbols moved

# Debug information is found the same ways, and so is what dwz has put elsewhere.
functions() { "$TOOLS/dwarf_functions" "$@" 2> err.txt; }
address=$(nm full | awk '$3 == "hidden" { print $1 }')
for how in "full" "eu" "bare , full" "bare flat"; do
	# shellcheck disable=SC2086 # options
	set -- ${how/,/\"\"}
	[ "$how" != "bare flat" ] || { mkdir -p "flat/${by_id%/*}" && cp whole "flat/$by_id"; }
	[ "${2:-}" != '""' ] || set -- "$1" "" "$3"
	functions "./$1" "${@:2}" | grep -qx "$address hidden" || fail "DWARF: $how: $(cat err.txt)"
done
functions ./bare && fail "DWARF out of nothing"
grep -q "bare has no debug information, and no /usr/lib/debug/$by_id: install the -dbgsym" err.txt ||
	fail "$(cat err.txt)"
if command -v dwz > /dev/null; then
	sed 's/hidden/buried/g; s/exported/carried/g' prog.c > prog2.c
	gcc -O1 -g -Wl,--build-id -o two prog2.c || fail "gcc"
	mkdir dwz
	cp full dwz/one && cp two dwz/two
	(cd dwz && dwz -m common -M "$PWD/common" one two) || fail "dwz"
	readelf -S dwz/one | grep -q gnu_debugaltlink || fail "dwz has shared nothing"
	functions dwz/one | grep -qx "$address hidden" || fail "dwz: $(cat err.txt)"
	objcopy --only-keep-debug dwz/one dwz.debug
	functions ./bare "" dwz.debug | grep -qx "$address hidden" || fail "dwz, split: $(cat err.txt)"
	mv dwz/common dwz/elsewhere
	functions dwz/one && fail "dwz: half of the debug information"
	grep -q 'dwz made .* missing' err.txt || fail "$(cat err.txt)"
	cp full dwz/common
	functions dwz/one && fail "dwz: of another"
	common_id=$(readelf -n dwz/elsewhere | awk '/Build ID/ { print $3 }')
	mkdir -p "tree/.build-id/${common_id:0:2}"
	cp dwz/elsewhere "tree/.build-id/${common_id:0:2}/${common_id:2}.debug"
	functions dwz/one tree | grep -qx "$address hidden" || fail "dwz by build-id: $(cat err.txt)"
else
	echo "no dwz"
fi

# What the program knows by itself opens nothing else.
if command -v strace > /dev/null; then
	strace -f -qq -e trace=file -o calls "$UPROBE" --check p:./bare:exported > /dev/null ||
		skip "strace does not run here"
	grep -c debug calls && fail "files were looked for without need: $(grep debug calls)"
	strace -f -qq -e trace=file -o calls "$UPROBE" --check p:./bare:hidden > /dev/null 2>&1
	grep -q "/usr/lib/debug/$by_id" calls || fail "strace does not see what is looked for"
fi
:
