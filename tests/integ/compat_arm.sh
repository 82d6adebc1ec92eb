# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A 32-bit ARM program beside a 64-bit ubp: it is refused, file and process, in one line, and
# what runs goes on unharmed.
. "${0%/*}/lib.bash"

need_arch aarch64
have python3
# It reads a byte, then exit(5).
python3 - <<'PY'
import struct
code = struct.pack("<10I",
    0xe24dd008,  # sub sp, sp, #8
    0xe3a00000,  # mov r0, #0
    0xe1a0100d,  # mov r1, sp
    0xe3a02001,  # mov r2, #1
    0xe3a07003,  # mov r7, #3 (read)
    0xef000000,  # svc #0
    0xe3a00005,  # mov r0, #5
    0xe3a07001,  # mov r7, #1 (exit)
    0xef000000,  # svc #0
    0xeafffffe)  # b .
base, at = 0x10000, 52 + 32
head = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, base + at, 52, 0,
                                                  0x05000000, 52, 32, 1, 40, 0, 0)
load = struct.pack("<8I", 1, 0, base, base, at + len(code), at + len(code), 5, 0x10000)
open("arm", "wb").write(head + load + code)
PY
chmod 755 arm
refused "arm is for 32-bit arm: of that machine's programs ubp knows nothing" --check -e "p:a/x ./arm:0x54"

mkfifo in
./arm < in 2> arm.err &
PID=$!
PIDS+=("$PID")
exec {fd}> in
# In exec() it is still bash.
is_arm() { grep -q '/arm$' "/proc/$PID/maps" 2> /dev/null; }
end_arm() {
	echo >&$fd
	wait "$PID"
	rc=$?
	[ $rc = 5 ] || fail "$1: it ended with $rc, not 5: $(cat arm.err)"
}
if ! kill -0 "$PID" 2> /dev/null || grep -q 'cannot execute' arm.err; then
	skip "this kernel runs no 32-bit programs"
fi
eventually is_arm
refused "process $PID runs a program of a kind" -p "$PID" -e "p:b/x $FIXTURES/busy:step"
refused "process $PID runs a program of a kind|is for 32-bit arm" -p "$PID" -e "p:a/x ./arm:0x54"
untraced "$PID"
end_arm "after it was refused"

# As a child of who is traced.
echo | timeout "$TIMEOUT" "$UPROBE" -o out.txt -e "p:b/x $FIXTURES/busy:step" -- sh -c './arm; exit $?' 2> err.txt
rc=$?
[ $rc = 5 ] || fail "as a child: $rc, not 5"
