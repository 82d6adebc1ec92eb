# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --tree: calls below those that made them, with arguments, results and times; what has no return, or no entry, and losses are
# shown as what they are. While it traces and of a recording.
. "${0%/*}/lib.bash"
have gcc
: "${UBP_REPORT:?}"

cat > calls.c << 'END'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static jmp_buf back;
NOINLINE int leaf(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
NOINLINE int outer(int n, const char *s) { int sum = leaf(n) + leaf(n + 1); __asm__ volatile("" :: "r"(s)); return sum; }
NOINLINE int down(int n) { int r = n ? down(n - 1) + 1 : 0; __asm__ volatile("" ::: "memory"); return r; }
NOINLINE void jumps(int n) { __asm__ volatile("" ::: "memory"); if (n) longjmp(back, 1); }
NOINLINE int tries(void) { if (!setjmp(back)) jumps(1); return 7; }
NOINLINE void alone(int n) { __asm__ volatile("" :: "r"(n)); }
NOINLINE int waits(int fd) { char c = 0; return (int)read(fd, &c, 1); }
static void *thread(void *arg) { return (void *)(long)outer(*(int *)arg, "two"); }
int main(int argc, char **argv)
{
	pthread_t id;
	char line[8];
	int n = 20;

	if (argc > 1)
		puts("ready"), fflush(stdout);
	if (argc > 1 && !fgets(line, sizeof(line), stdin))
		return 1;
	if (argc > 1)
		return waits(0) < 0;
	outer(1, "one");
	down(2);
	tries();
	alone(5);
	pthread_create(&id, NULL, thread, &n);
	pthread_join(id, NULL);
	return 0;
}
END
# Where variables have values behind the prologue only, calls have their entries all the same.
cat > plain.c << 'END'
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib(3) != 2; }
END
gcc -O0 -g -o plain plain.c || fail "gcc"
"$UPROBE" --record plain.ubp --lossless -e 'p:./plain:fib n' -e 'r:./plain:fib $retval:s32' -- ./plain > /dev/null 2> err.txt || fail "plain: $(cat err.txt)"
"$UBP_REPORT" --tree plain.ubp > plain.txt || fail "ubp-report of plain.ubp"
[ "$(grep -c 'fib(n=1) = 1;' plain.txt)" = 2 ] && [ "$(grep -c '} = 2;' plain.txt)" = 1 ] && ! grep -q 'not seen' plain.txt || fail "$(cat plain.txt)"
gcc -O1 -g -pthread -o calls calls.c || fail "gcc"
F=$PWD/calls
probes=(-e "p:t/outer $F:outer n=$ARG1:s32 s=+0($ARG2):string" -e "r:t/outer_ret $F:outer v=\$retval:s32"
	-e "p:t/leaf $F:leaf n=$ARG1:s32" -e "r:t/leaf_ret $F:leaf v=\$retval:s32" -e "p:t/down $F:down n=$ARG1:s32"
	-e "r:t/down_ret $F:down" -e "p:t/tries $F:tries" -e "r:t/tries_ret $F:tries v=\$retval:s32 again=\$retval:x8"
	-e "p:t/jumps $F:jumps n=$ARG1:s32" -e "r:t/jumps_ret $F:jumps" -e "p:t/alone $F:alone n=$ARG1:s32")
shown() { sed -E -e 's/^ *calls-[0-9]+ +\| /| /' -e 's/   [0-9.]+ (ns|us|ms|s)/ TIME/' "$1"; }
cat > want.txt << 'END'
| outer(n=1, s="one") {
|   leaf(n=1) = 2; TIME
|   leaf(n=2) = 3; TIME
| } = 5; TIME   (outer)
| down(n=2) {
|   down(n=1) {
|     down(n=0); TIME
|   }; TIME   (down)
| }; TIME   (down)
| tries() {
|   jumps(n=1);   (left without a return)
| } = {v=7, again=0x7}; TIME   (tries)
| [alone(n=5)]
| outer(n=20, s="two") {
|   leaf(n=20) = 21; TIME
|   leaf(n=21) = 22; TIME
| } = 43; TIME   (outer)
END
"$UPROBE" --tree --lossless -o tree.txt "${probes[@]}" -- "$F" || fail "--tree"
shown tree.txt | diff -u want.txt - || fail "another tree"
[ "$(grep -o 'calls-[0-9]*' tree.txt | uniq | wc -l)" = 2 ] || fail "not two threads"

# Times are what the events say: the outer ones are the longer ones.
"$UPROBE" --record t.ubp "${probes[@]}" -- "$F" || fail "--record"
"$UBP_REPORT" --tree t.ubp > tree.txt || fail "ubp-report --tree"
shown tree.txt | diff -u want.txt - || fail "another tree of a recording"
"$UBP_REPORT" t.ubp > events.txt
python3 - << 'END' || fail "times"
import re
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
events = [(float(m[1]), m[2]) for m in re.finditer(r" ([\d.]+): (outer\w*): ", open("events.txt").read())]
want = [events[i + 1][0] - events[i][0] for i in range(0, len(events), 2)]
got = [float(m[1]) * UNITS[m[2]] for m in re.finditer(r"\} = \d+;   ([\d.]+) (\w+)   \(outer\)", open("tree.txt").read())]
assert len(want) == len(got) == 2, (events, got)
for a, b in zip(want, got):
    assert abs(a - b) <= 2e-6 + b * 0.1, (a, b)
END
"$UBP_REPORT" --tree --color=always t.ubp > colour.txt
grep -q $'\x1b\[1;36mleaf\x1b\[0m(n=1)' colour.txt && sed 's/\x1b\[[0-9;]*m//g' colour.txt | diff tree.txt - || fail "colours"

# Part of it only: returns whose entries are left out.
"$UBP_REPORT" --tree -e outer_ret -e leaf -e leaf_ret t.ubp > part.txt
grep -q '| outer_*r*e*t*() = 5;   (its entry was not seen)' part.txt || fail "no word on entries: $(cat part.txt)"

# A call that takes its time is shown as open, and at the end as what it is.
start "$F" waits
trace --tree -p "$PID" -e "p:$F:waits fd=$ARG1:s32" -e "r:$F:waits"
go
wait_for out.txt 'waits\(fd=0\) \{$'
trace_stop
grep -qE '\| \};   \(no return until the end\)   \(waits\)$' out.txt || fail "its end"
go
finish

refused '^uprobe: error: --tree needs the return of a function \(-e r:...\) beside its entry \(-e p:...\)$' --tree "p:$F:leaf"
usage '--json has a form of its own: it excludes --tree' --tree --json p:libc:getenv
usage '--tree has a form of its own: it excludes --json' --json --tree p:libc:getenv
usage '-H is for text: it excludes --tree' -H --tree p:libc:getenv
usage '--time is for text: it excludes --tree' --time=delta --tree p:libc:getenv
