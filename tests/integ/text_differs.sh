# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Code in memory that is not what the file says: refused, and left as it is.
. "${0%/*}/lib.bash"
in_modes auto trap

need_arch x86_64
have objdump
cp "$FIXTURES/threads" prog
F=$PWD/prog
# poke PID FUNCTION HEX: write there, as a debugger or a hot patch does.
poke() {
	python3 - "$F" "$@" <<'PY' || fail "poke"
import subprocess, sys
path, pid, name, data = sys.argv[1:5]
out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
at = next(int(l.split()[0], 16) for l in out.splitlines() if l.split()[-1] == name)
with open(f"/proc/{pid}/maps") as maps:
    base = next(int(l.split("-")[0], 16) for l in maps if l.rstrip().endswith(path))
with open(f"/proc/{pid}/mem", "r+b", buffering=0) as mem:
    mem.seek(base + at)
    mem.write(bytes.fromhex(data))
PY
}
# stays_out PID: uprobe refuses tick, and changes nothing.
stays_out() {
	text_of "$1" "$F" before
	refused "^uprobe: error: .*byte at 0x[0-9a-f]+ in process $1 is 0x[0-9a-f]{2}, in the file it is 0x" \
		-p "$1" -e "p:t/other $F:main" -e "p:t/tick $F:tick"
	text_of "$1" "$F" after
	cmp before after || fail "its code was changed"
	untraced "$1"
}

# lets_it_be PID: uprobe stands behind the first instruction, and touches nothing of it.
lets_it_be() {
	text_of "$1" "$F" before
	trace -p "$1" -e "p:t/tick $F:tick"
	trace_stop
	text_of "$1" "$F" after
	cmp before after || fail "its code was changed"
	untraced "$1"
}

# Another tracer's breakpoint, or a kernel's: only a site that stands behind it does not hide it.
start "$F" 1 10
orig=$(objdump -d --disassemble=tick "$F" | awk '/<tick>:/ { getline; print $2; exit }')
poke "$PID" tick cc
if [ "$MODE" = trap ] || "$UPROBE" --explain "p:$F:tick" | grep -q ': jump (over .* behind the first '; then
	lets_it_be "$PID"
else
	stays_out "$PID"
fi
poke "$PID" tick "$orig"
# A function that was patched to jump elsewhere.
poke "$PID" tick e900000000
stays_out "$PID"
# Without -p it is passed over with a word, others are traced.
NAME=good start "$F" 1 10
trace --stats -e "p:t/tick $F:tick"
wait_for err.txt "^uprobe: warning: process $PID_fix is not traced: .*in the file it is"
go good
finish good
trace_stop
expect_count 10 ' tick: '
# --force does not override it: our byte would hide theirs.
refused 'in the file it is' --force -p "$PID_fix" -e "p:t/tick $F:tick"
kill -9 "$PID_fix"

# The file was replaced after the program started: the old one is what it runs.
start "$F" 1 10
cp "$FIXTURES/busy" new
mv new "$F"
trace -p "$PID" -e "p:t/tick $F:tick i=%si:s32"
go
finish
trace_done
expect_count 10 ' tick: '
cp "$FIXTURES/threads" prog2
mv prog2 "$F"

# A library changed in place, behind a page that is private already.
have gcc
cat > lib.c <<'C'
int libfn(int x) { return x + 1; }
C
cat > user.c <<'C'
#include <stdio.h>
int libfn(int x);
int main(void)
{
	char line[8];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && line[0] == 'g')
		if (libfn(4) != 5)
			return 1;
	return 0;
}
C
gcc -shared -fPIC -O1 -o libchanged.so lib.c && gcc -o user user.c ./libchanged.so || skip "no compiler"
L=$PWD/libchanged.so
start "$PWD/user"
trace -n 1 -p "$PID" -e "p:l/f $L:libfn"
go
trace_done
python3 - "$L" <<'PY'
import subprocess, sys
out = subprocess.run(["nm", "-D", sys.argv[1]], capture_output=True, text=True, check=True).stdout
at = next(int(l.split()[0], 16) for l in out.splitlines() if l.split()[-1] == "libfn")
with open(sys.argv[1], "r+b") as f:
    f.seek(at)
    f.write(bytes.fromhex("8d4702c3"))
PY
refused 'in the file it is' -p "$PID" -e "p:l/f $L:libfn"
untraced "$PID"
go
echo end >&"$IN_fix"
finish
