# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Strings whose length is another argument's, string[n], and dumps, hex[n], of a real program: what it writes is what is shown.
. "${0%/*}/lib.bash"

PYTHON=$(python3 -c 'import sys; print(sys.executable)')
cat > program.py <<'PY'
import ctypes, mmap, os
libc = ctypes.CDLL(None)
out = os.open("/dev/null", os.O_WRONLY)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t]
pages = mmap.mmap(-1, 8192)
page = ctypes.addressof(ctypes.c_char.from_buffer(pages))
libc.mprotect(ctypes.c_void_p(page + 4096), 4096, 0)
ctypes.memmove(page + 4091, b"he\0lo", 5)
for n in 2, 5, 0, 6, -1:
    libc.write(out, page + 4091, n)
big = ctypes.create_string_buffer(b"y" * 100000)
libc.write(out, big, 100000)
libc.write(out, None, 0)
PY
write="p:w/write libc:write fd=$ARG1:s32 n=$ARG3:s64 text=arg2:string[n] bytes=+0($ARG2):hex[n] two=+0($ARG2):hex[2]"
check() { # check WHAT
	python3 - <<'PY' || fail "$1: not right"
import json
events = [json.loads(line)["args"] for line in open("out.txt", encoding="utf-8")]
got = [(a["n"], a["text"], a["bytes"], a["two"]) for a in events]
small, big = got[:5] + got[6:], got[5]
assert small == [(2, "he", "68 65", "68 65"), (5, "he", "68 65 00 6c 6f", "68 65"), (0, "", "", "68 65"),
                 (6, "he", None, "68 65"), (-1, None, None, "68 65"), (0, "", "", None)], small
n, text, digits, _ = big
assert n == 100000 and text == "y" * len(text) and len(text) > 1000, big
assert set(digits.split()) == {"79"} and len(digits) > 1000, big
PY
}
for mode in auto trap stay; do
	how=(--mode=$mode)
	[ $mode != stay ] || how=(--stay)
	"$UPROBE" --lossless --json "${how[@]}" -o out.txt -e "$write" --filter 'fd > 2' -- "$PYTHON" program.py 2> err.txt || fail "$mode: $?"
	check $mode
done
"$UPROBE" --lossless --record rec -e "$write" --filter 'fd > 2' -- "$PYTHON" program.py 2> err.txt || fail "--record: $?"
"$UBP_REPORT" --json rec > out.txt || fail "ubp-report: $?"
check "a recording"

# As text, behind a filter, and counted by it.
"$UPROBE" -o out.txt -e "$write" --filter 'bytes ~ "68 65 00*"' -- "$PYTHON" program.py || fail "a filter: $?"
expect_count 1 ' n=5 text="he" bytes="68 65 00 6c 6f" two="68 65"$'
"$UPROBE" --count=bytes -o out.txt -e "$write" --filter 'n == 2 || n == 5' -- "$PYTHON" program.py > counts.txt || fail "--count: $?"
grep -q '68 65 00 6c 6f' counts.txt out.txt || fail "it is not counted"

# Reading what is behind the text would change the program: here, the second page gets its memory.
cat > behind.py <<'PY'
import ctypes, mmap, os
libc = ctypes.CDLL(None)
fd = os.memfd_create("behind")
os.ftruncate(fd, 8192)
pages = mmap.mmap(fd, 8192)
page = ctypes.addressof(ctypes.c_char.from_buffer(pages))
pages[4091:4096] = b"hello"
libc.write(os.open("/dev/null", os.O_WRONLY), ctypes.c_void_p(page + 4091), 5)
print(os.stat(fd).st_blocks * 512)
PY
"$UPROBE" --lossless -o out.txt -e "p:w/write libc:write fd=$ARG1:s32 n=$ARG3:s32 text=arg2:string[n] bytes=arg2:hex[n]" --filter 'fd > 2' -- \
	"$PYTHON" behind.py > stdout.txt || fail "behind: $?"
expect_count 1 ' n=5 text="hello" bytes="68 65 6c 6c 6f"$'
[ "$(cat stdout.txt)" = 4096 ] || fail "$(cat stdout.txt) bytes are there"

# It is not the kernel's; why it stops.
"$UPROBE" --explain -e "$write" > out.txt || fail "--explain"
grep -q 'not a jump: texts with a length are read where the thread stops' out.txt || fail "$(cat out.txt)"
refused 'Invalid array size' --strict -e "p:w/write $FIXTURES/threads:0x1300 n=%dx a=+0(%si):string[n]"
refused 'Unknown type is specified' --strict -e "p:w/write $FIXTURES/threads:0x1300 a=+0(%si):hex[4]"
if [ -w /sys/kernel/tracing/uprobe_events ] && [ "$(uname -m)" = x86_64 ]; then
	for arg in 'string[n]' 'hex[n]' 'hex[4]'; do
		! echo "p:ubp_test_lengths/w $FIXTURES/threads:0x1300 n=%dx a=+0(%si):$arg" >> /sys/kernel/tracing/uprobe_events 2> /dev/null ||
			fail "the kernel takes $arg"
	done
fi
