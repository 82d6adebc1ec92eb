# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# gdb, strace, rr and the leak checkers of two sanitizers under uprobe say what they say without it.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/ptraces
cat > leak.c << 'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) char *work(int n)
{
	return malloc(n);
}
int main(void)
{
	work(100);
	puts("done");
	return 0;
}
C
# alike COMMAND...: the same output and status, with libc's functions probed as well.
alike() {
	local want rc
	"$@" > want.txt 2> want.err < /dev/null
	want=$?
	"$UPROBE" -o ev.txt -e "p:t/work $F:work" -e 'r:t/open libc:open64' -e 'p:t/malloc libc:malloc' -- "$@" \
		> out.txt 2> err.txt < /dev/null
	rc=$?
	[ $rc = $want ] || fail "$*: ended with $rc, without us $want"
	diff <(normal want.txt) <(normal out.txt) || fail "$*: another output"
	grep -q 'is let go: ' err.txt || fail "$*: nobody was let go"
}
# What differs from run to run anyway: numbers, and what a debugger and its program write at one time.
normal() { sed -E 's/\(process [0-9]+\)|0x[0-9a-f]+|process [0-9]+//g' "$1" | sort; }

none=1
for how in leak address; do
	gcc -fsanitize=$how -o leak leak.c 2> gcc.txt || continue
	./leak > out.txt 2> err.txt
	grep -q '100 byte(s) leaked' err.txt || continue
	none=
	alike ./leak
	grep -q '100 byte(s) leaked' err.txt || fail "$how: $(cat err.txt)"
done
if type -P gdb > /dev/null; then
	none=
	export DEBUGINFOD_URLS=
	alike gdb -nx -q -batch -ex run --args "$F" none
	alike gdb -nx -q -batch -ex 'break work' -ex run -ex 'p $_siginfo.si_signo' -ex delete -ex c --args "$F" none
fi
if type -P strace > /dev/null; then
	none=
	alike strace -f -o calls.txt "$F" none
	grep -q 'exited with 0' calls.txt || fail "strace: $(tail -n 3 calls.txt)"
fi
# It needs hardware counters, which few virtual machines have.
if ! type -P rr > /dev/null; then
	echo "without rr"
elif _RR_TRACE_DIR=$PWD/rr.first rr record -n "$F" none > rr.txt 2>&1 < /dev/null; then
	none=
	export _RR_TRACE_DIR=$PWD/rr
	alike rr record "$F" none
	alike rr replay -a
else
	echo "without rr: $(tail -n 1 rr.txt)"
fi
[ -z "$none" ] || skip "needs gdb, strace, rr, or gcc with libasan or liblsan"
