# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Variables named at a function's entry: one hit for each call, also where the function begins
# with a loop. Parameters that the caller left on the stack are read at the first instruction; what
# the prologue stores, behind it, and where that is the head of a loop, not at all.
. "${0%/*}/lib.bash"
need_arch x86_64 # instructions
have gcc

cat > entry.c <<'C'
#define OUT __attribute__((noipa))
volatile int g[16];
OUT void rounds(volatile int *p) { do ++*p; while (*p < 5); }
OUT void down(int n)
{
	for (;;) {
		if (n-- <= 0)
			return;
		g[n & 15]--;
	}
}
OUT void seventh(int a, int b, int c, int d, int e, int f, int n)
{
	do g[(a + b + c + d + e + f) & 15]++; while (--n > 0);
}
OUT void local(int n) { int k = n + 1; do g[k & 15]++; while (--n > 0); }
OUT int many(int n, ...) { return n; }
int main(void)
{
	for (int i = 0; i < 10; i++) {
		volatile int v = i % 3;
		rounds(&v);
		down(i);
		seventh(1, 2, 3, 4, 5, 6, i);
		local(i);
		many(i, 1.5);
	}
}
C
build() {
	local program=$1
	shift
	gcc -g "$@" -o "$program" entry.c 2> cc.err
}
# hits PROGRAM DEFINITION VALUES: what the 10 calls hit, once each.
hits() {
	"$UPROBE" -o hits.txt -e "p:t/hit ./$1:$2" -- "./$1" 2> err.txt || fail "$1, $2"
	sed -n 's/.*: hit: ([^)]*) *//p' hits.txt > got.txt
	diff got.txt "$3" || fail "$1, $2: hits"
}
# at_entry PROGRAM DEFINITION: does the probe stand at the function's first instruction?
at_entry() {
	local entry
	entry=$(nm "$1" | sed -n "s/^0*\([0-9a-f]*\) T ${2%%[ :]*}\$/\1/p")
	"$UPROBE" --check "p:t/hit ./$1:$2" > out.txt 2> err.txt || fail "$1, $2"
	grep -q ":0x0*$entry " out.txt
}
seq -f n=%.0f 0 9 > n
seq 1 10 | sed 's/.*/a=1 b=2 c=3 d=4 e=5 f=6 n=/' | paste -d '' - <(seq 0 9) > all
for i in 0 1 2 3 4 5 6 7 8 9; do echo p=$((i % 3)); done > p

# --- 32 bits: all parameters are the caller's
if build opt32 -O1 -m32 -idirafter /usr/include/x86_64-linux-gnu && ./opt32; then
	build plain32 -O0 -m32 -idirafter /usr/include/x86_64-linux-gnu || fail "gcc -m32 -O0"
	for program in opt32 plain32; do
		hits $program 'rounds p=*p' p
		for f in down seventh many local; do
			hits $program "$f n" n
			hits $program "$f:0 n" n
			at_entry $program "$f n" || fail "$program: $f n is not read at the entry"
		done
		hits $program 'seventh $params' all
	done
	if at_entry plain32 'local n k'; then fail "a local variable at the entry"; fi
else
	echo "32 bits are left out: $(tail -n 1 cc.err)"
fi

# --- 64 bits: the seventh is the caller's
build plain64 -O0 || fail gcc
hits plain64 'seventh n' n
at_entry plain64 'seventh n' || fail "a parameter on the stack is not read at the entry"

# --- behind the prologue: not where each round of a loop comes by
hits plain64 'local n' n
hits plain64 'many n' n # a branch of the prologue leads there
no_head() {
	"$UPROBE" --check "p:t/hit ./$1:$2" > out.txt 2> err.txt && fail "$1, $2: taken"
	grep -q "the head of a loop.*$3" err.txt || fail "$1, $2: no reason"
	[ ! -s out.txt ] || fail "$1, $2: refused, and printed"
}
head=$(sed -n 's/.*all rounds (down+\(0x[0-9a-f]*\)).*/\1/p' <("$UPROBE" --check 'p:./plain64:down n' 2>&1))
[ -n "$head" ] || fail "where the loop of down() begins"
for f in down down:0 rounds 'seventh a' 'seventh n b'; do
	case $f in *' '*) ;; rounds) f="$f p" ;; *) f="$f n" ;; esac
	no_head plain64 "$f" "${f%%[ :]*}:N"
done
# What is told does it.
"$UPROBE" -o out.txt -e "p:t/hit ./plain64:down+$head n" -e 'p:t/line ./plain64:down:5 n' \
	-e 'p:t/reg ./plain64:down n=%di:s32' -- ./plain64 2> err.txt || fail "all rounds"
for event in hit=55 line=45 reg=10; do
	expect_count "${event#*=}" ": ${event%=*}: "
done
# Of several functions the others are left.
"$UPROBE" -o out.txt -e 'p:./plain64:[dl]o* n' -- ./plain64 2> err.txt || fail "several functions"
grep -q '1 of 2 places are left out: .*down+0x.*the head of a loop' err.txt ||
	fail "what is left out is not said"
expect_count 10 ': local: '
