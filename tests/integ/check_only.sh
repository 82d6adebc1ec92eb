# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --check, --explain and -v plant nothing and need no process.
. "${0%/*}/lib.bash"

F=$FIXTURES/args_int
start args_int
text_of "$PID" "$F" before
"$UPROBE" --check -e "p:g/e $F:area w=$ARG1:s32" -e "$(printf 'r:g/r %s:area' "$F")" > out.txt 2> err.txt ||
	fail "--check: $?"
off=$(nm "$F" | awk '$3 == "area" { print $1 }')
grep -qE "^p:g/e $F:0x[0-9a-f]{16} w=$ARG1:s32\$" out.txt || fail "--check: listing"
grep -qE "^r:g/r $F:0x[0-9a-f]{16}\$" out.txt || fail "--check: listing of the return"
python3 - "$F" "$off" <<'PY' || fail "--check: offset of area"
import struct, sys
d = open(sys.argv[1], "rb").read()
vaddr = int(sys.argv[2], 16)
phoff, = struct.unpack_from("<Q", d, 32)
size, n = struct.unpack_from("<HH", d, 54)
for i in range(n):
    kind, _, off, va, _, filesz = struct.unpack_from("<IIQQQQ", d, phoff + i * size)
    if kind == 1 and va <= vaddr < va + filesz:
        want = vaddr - va + off
assert f":0x{want:016x} " in open("out.txt").read()
PY
"$UPROBE" --explain -e "p:g/e $F:area" > out.txt 2> err.txt || fail "--explain: $?"
[ "$(wc -l < out.txt)" = 1 ] || fail "--explain: not one line"
says() { "$UPROBE" --explain "${@:2}" 2>&1 > out.txt | grep -qF "traced all the time: $1" || fail "--explain ${*:2} does not say '$1'"; }
says 'it is to stay so' --stay -e "p:g/e $F:area"
# Where --stay is not among its options already.
if [ -z "${UBP_STAY:-}" ]; then
	grep -q 'traced only while something changes in them$' err.txt || fail "--explain does not say that it lets go: $(cat err.txt)"
	says 'a full ring is to stop it' --lossless -e "p:g/e $F:area"
	says 'not all of the places are jumps' -e "p:g/e $F:area" -e "p:g/f $F:area c=\$comm"
	says 'not all of the places are jumps' --mode trap -e "p:g/e $F:area"
	says 'stacks are read' --stack=fp -e "p:g/e $F:area"
	# A jump, whose detour stops for those that pass the rest of the filter.
	says "a probe asks for the thread's name" -e "p:g/e $F:area w=$ARG1:s32" --filter 'w > 7 && comm == "x"'
	# Jumps that a breakpoint in their middle would break: a punned one with too many instructions in it; one that leads to memory which may not be free.
	if [ "$(uname -m)" = x86_64 ]; then
		says "a debugger's breakpoint could break one of its jumps" "p:$FIXTURES/obj_windows:jumped_to"
		says "a debugger's breakpoint could break one of its jumps" -e "p:$FIXTURES/pun_jump:nothing" -e "p:$FIXTURES/obj_windows:jumped_to"
		perhaps='but for those in which memory that jumps need is not free'
		"$UPROBE" --explain "p:$FIXTURES/pun_jump:nothing" 2>&1 > out.txt | grep -q "$perhaps" || fail "--explain is too sure of a punned jump"
		for f in pun_jump:nothing obj_windows:jumped_to; do
			"$UPROBE" --force --explain "p:$FIXTURES/$f" 2>&1 > out.txt | grep -q 'only while something changes in them$' ||
				fail "--explain --force does not say that it lets go"
		done
	fi
fi
"$UPROBE" -v -e "p:g/e $F:area w=$ARG1:s32" > out.txt 2> err.txt || fail "-v: $?"
grep -qP '^\tfield:s32 w;\toffset:16;\tsize:4;\tsigned:1;$' out.txt || fail "-v: format"
text_of "$PID" "$F" after
cmp before after || fail "something was planted"
go
finish
