# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Files of a machine whose programs are not traced here: all that definitions can be asked is
# answered, with that machine's names; to trace one is refused. And its slots, where there are a cross
# compiler, its libraries and an emulator of programs.
. "${0%/*}/lib.bash"

CROSS=powerpc64le-linux-gnu-
ROOT=${UBP_CACHE:-$HOME/.cache/ubp}/root-ppc64el
for L in "$ROOT/lib/powerpc64le-linux-gnu/libc.so.6" /usr/powerpc64le-linux-gnu/lib/libc.so.6 ''; do
	[ -e "$L" ] && break
done
[ -n "$L" ] || skip "needs a C library for ppc64el (.ci/root.sh ppc64el libc6)"
case $(uname -m) in ppc64le) skip "this is such a machine" ;; esac

# @1: symbol. Its file offset is its address in the C library; bits 5 to 7 of st_other.
entry() {
	python3 - "$L" "$1" <<'PY'
import struct, sys
d = open(sys.argv[1], "rb").read()
shoff, = struct.unpack_from("<Q", d, 40)
size, n = struct.unpack_from("<HH", d, 58)
sections = [struct.unpack_from("<IIQQQQIIQQ", d, shoff + i * size) for i in range(n)]
for _, kind, _, _, off, length, link, _, _, entry in sections:
    if kind != 11:
        continue
    names = sections[link][4]
    for at in range(off, off + length, entry):
        name, info, other, shndx, value, _ = struct.unpack_from("<IBBHQQ", d, at)
        end = d.index(b"\0", names + name)
        if d[names + name:end].decode() == sys.argv[2] and shndx:
            bits = other >> 5
            print(f"{value + (1 << bits if 1 < bits < 7 else 0):#018x}")
            sys.exit()
PY
}

want=$(entry puts)
[ -n "$want" ] || fail "no puts in $L"
"$UPROBE" --check "p:$L:puts %gpr3 %link %nip %gpr31 \$stack0" > out.txt 2> err.txt || fail "--check"
grep -qxF "p:uprobes/puts $L:$want arg1=%gpr3 arg2=%link arg3=%nip arg4=%gpr31 arg5=\$stack0" out.txt ||
	fail "--check: $(cat out.txt), not at $want"
"$UPROBE" --definition "r:$L:puts \$retval" > out.txt 2> err.txt || fail "--definition"
grep -qxF "r:uprobes/puts $L:$want arg1=\$retval" out.txt || fail "--definition: $(cat out.txt)"
"$UPROBE" --check "p:$L:puts+4" > out.txt 2> err.txt || fail "--check with an offset"
grep -q ":$(printf '0x%016x' $((want - 4)))\$" out.txt || fail "an offset counts from the symbol"
"$UPROBE" --check "p:$L:puts %di" > out.txt 2> err.txt && fail "a register of this machine"
grep -q 'Invalid register name' err.txt || fail "a register of this machine: text"
"$UPROBE" --explain "p:$L:puts" > out.txt 2> err.txt || fail "--explain"
grep -q 'boosted.*not a jump: there are no jumps in programs of this kind' out.txt || fail "--explain: text"
"$UPROBE" -l "$L" --explain 'put*' > out.txt 2> err.txt || fail "-l --explain"
grep -q '^puts  *breakpoint: there are no jumps' out.txt || fail "-l --explain: text"
grep -q '  *jump$' out.txt && fail "-l --explain: a jump"

# Not traced: with the reason, and a library alone.
timeout 60 "$UPROBE" "p:$L:puts" > out.txt 2> err.txt
[ $? = 1 ] || fail "traced"
grep -q 'is for ppc64le: ubp traces no such programs' err.txt || fail "traced: text"

qemu=$(command -v qemu-ppc64le-static) || skip "checked but for slots: needs qemu-user-static"
for need in lib/powerpc64le-linux-gnu/libc.so.6 usr/include/cmocka.h usr/include/capstone; do
	[ -e "$ROOT/$need" ] || skip "checked but for slots: needs $need of ppc64el (make cross-ppc64el)"
done
command -v ${CROSS}gcc > /dev/null || skip "checked but for slots: needs ${CROSS}gcc"
B=$UBP_BUILD-ppc64el
B=$(realpath -m --relative-to="$UBP_SRC" "$B")
T=$B/tests/unit/test_ppc64el_exec
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$UBP_SRC" -j2 --no-print-directory CROSS=$CROSS ROOT="$ROOT" B="$B" CFLAGS="$QUICK" "$T" \
	> build.txt 2>&1 || fail "it does not build: $(tail -n 20 build.txt)"
timeout 300 "$qemu" -cpu power10 -L "$ROOT" "$UBP_SRC/$T" > out.txt 2>&1 || fail "slots: $(grep -v ' OK ' out.txt)"
tail -n 2 out.txt
