#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What arch/NAME/guard.sh do: assemble guard.S and print guard_code.h; --check: say whether it is that
# still. 77: there is no assembler for it here. Told by
#   GUARD_DIR      the folder
#   GUARD_TOOLS    what the names of the tools begin with (AS, OBJCOPY, OBJDUMP, NM name others)
#   GUARD_FLAGS    of the assembler
#   GUARD_PREFIX   of the names in guard_code.h
set -eu
here=${GUARD_DIR:?}
tools=${GUARD_TOOLS-}
prefix=${GUARD_PREFIX:-GUARD_CODE}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# shellcheck disable=SC2086 # any number of flags
if ! ${AS:-${tools}as} ${GUARD_FLAGS-} -I "${0%/*}" -o "$dir/guard.o" "$here/guard.S"; then
	echo "guard.sh: no assembler for $here here (AS)" >&2
	exit 77
fi
${OBJCOPY:-${tools}objcopy} -O binary -j .text "$dir/guard.o" "$dir/guard.bin"
if ${OBJDUMP:-${tools}objdump} -r "$dir/guard.o" | grep ' R_' >&2; then
	echo "guard.sh: the code is not complete in itself" >&2
	exit 1
fi

# "0000000000000030 t breakpoint" -> the name's value, as C takes it
symbols() {
	${NM:-${tools}nm} "$dir/guard.o" | while read -r value _ name; do
		case " $* " in *" $name "*) echo "$name 0x$(printf %08x "0x$value")" ;; esac
	done | sort
}

{
	echo '/* SPDX-License-Identifier: LGPL-2.1-or-later */'
	echo '/* Copyright the ubp authors */'
	echo
	echo '/* Made by guard.sh of guard.S: "make guard-code". Not to be edited. */'
	echo
	echo '/* clang-format off */'
	echo
	echo '/* Entries, offsets into the code. */'
	symbols handler restorer emulate hook go_back end | while read -r name value; do
		printf '#define %s_%s %s\n' "$prefix" "$(echo "$name" | tr a-z A-Z)" "$value"
	done
	echo
	echo '/* What the code was told of structures. */'
	symbols HEAD_LEN HEAD_TABLE_MASK HEAD_NEXT HEAD_DATA HEAD_RETURNS HEAD_RETURNS_MASK HEAD_ACTION \
		AREA_TRAMPOLINE AREA_GUARD AREA_TABLE SITE_SLOT SITE_SHIFT SLOT_FLAGS SLOT_UNWIND SLOT_PART RETURN_REAL \
		DATA_CHAIN_AT DATA_CHAIN DATA_OWNER DATA_RETIRED DATA_HIJACKS DATA_HIJACKS_MASK \
		DATA_RETURN_VADDR DATA_MASKED DATA_LIVE_LO DATA_LIVE_END HIJACK_REAL HIJACK_BACK HIJACK_SHIFT CALLED_BACK \
		GATE GATE_ALONE GATE_TRAP OWNER_DIED |
		while read -r name value; do
			printf '#define %s_%s %s\n' "$prefix" "$name" "$value"
		done
	echo
	printf '#define %s_BYTES \\\n' "$prefix"
	od -An -v -tx1 -w12 "$dir/guard.bin" |
		sed 's/ \([0-9a-f][0-9a-f]\)/ 0x\1,/g; s/^ /	/; $!s/$/ \\/'
} >"$dir/guard_code.h"

case ${1-} in
--check)
	if ! cmp -s "$dir/guard_code.h" "$here/guard_code.h"; then
		diff "$here/guard_code.h" "$dir/guard_code.h" >&2 || true
		echo "guard_code.h is not what guard.S says: make guard-code" >&2
		exit 1
	fi ;;
'') cat "$dir/guard_code.h" ;;
*) echo "usage: guard.sh [--check]" >&2; exit 2 ;;
esac
