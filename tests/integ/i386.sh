# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: every kind of instruction, calling convention and system call, a ubp that is killed
# under them, signal handlers of their own; and both kinds of programs in one session.
. "${0%/*}/lib.bash"

need_arch x86_64
F=${UBP_BUILD:?}/fixtures32
[ -x "$F/insns" ] || skip "gcc cannot build for 32 bits (gcc-12-multilib)"
"$F/exit_code" exit || skip "this kernel runs no 32-bit programs"
in_modes auto trap

# Instructions: the same registers, flags and memory, and each counted.
NAME=plain start "$F/insns" 20
go plain
finish plain
want=$LAST
defs=() n=0
for at in $(nm "$F/insns" | sed -n 's/.* \(p_\)/\1/p'); do
	defs+=(-e "p:i/$at $F/insns:$at")
	n=$((n + 1))
done
[ $n -ge 60 ] || fail "only $n instructions"
NAME=insns start "$F/insns" 20
trace -p "$PID" "${defs[@]}"
go insns
finish insns
trace_done
[ "$LAST" = "$want" ] || fail "the instructions did something else: $LAST, not $want"
for at in $(nm "$F/insns" | sed -n 's/.* \(p_\)/\1/p'); do
	case $at in p_loop) times=60 ;; p_loopne) times=40 ;; *) times=20 ;; esac
	expect_count $times ": $at: "
done

# The third kind is none of ours: 64-bit registers, 32-bit addresses.
echo 'int work(int n) { return n; } void _start(void) { work(1); for (;;) ; }' > x32.c
if gcc -mx32 -O1 -fno-inline -nostdlib -static -no-pie -o x32 x32.c 2> gcc.txt; then
	refused 'x32' -p $$ -e "p:x/work ./x32:work"
fi

# What a 32-bit program does not have; what must be left alone in it, is, however it is begun.
refused 'Invalid register name' -e "p:x/xmm8 $F/returns:conv_cdecl %xmm8"
for reg in bx cx; do
	refused 'its own return address' -e "r:x/thunk $F/returns:__x86.get_pc_thunk.$reg"
done
"$UPROBE" -o thunk.txt -e "p:x/thunk $F/exit_code:__x86.get_pc_thunk.bx v=%xmm7" -- "$F/exit_code" exit 7
[ $? = 7 ] || fail "a program whose __x86.get_pc_thunk.bx is probed ended otherwise"
[ "$(count ' thunk: ' thunk.txt)" -ge 1 ] || fail "no hit of __x86.get_pc_thunk.bx"

# Calls: results, and what is printed of them. SIGTRAP is the program's, too.
again() {
	local line=
	go
	read -r -t "$TIMEOUT" line <&"$OUT_fix"
	[ "$line" = again ] || fail "$1: '$line' $(cat fix.err)"
}
kill_it() {
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
}
defs=()
for f in cdecl stdcall fastcall regparm struct wide deep; do
	defs+=(-e "p:c/$f $F/returns:conv_$f a=+4(%sp):s32 top=\$stack0:x32"
		-e "r:c/r_$f $F/returns:conv_$f \$retval:s32")
done
start "$F/returns" 2
text_of "$PID" "$F/returns" clean
again "untraced"
for i in 1 2 3 4 5 6; do
	trace -p "$PID" "${defs[@]}"
	wait_for out.txt ' r_deep: .* arg1=20$'
	again "traced, round $i"
	kill_it
	again "killed, round $i"
	alive
done
trace -p "$PID" "${defs[@]}"
again "traced"
enough() {
	local f
	for f in cdecl stdcall fastcall regparm struct wide deep; do
		# The file grows faster than all of it can be read.
		[ "$(grep -acm 11 -- " $f: (" out.txt)" = 11 ] && [ "$(grep -acm 11 -- " r_$f: (" out.txt)" = 11 ] || return
	done
}
eventually enough
trace_stop
again "untraced again"
text_of "$PID" "$F/returns" now
cmp clean now || fail "the code is not what it was"
untraced "$PID"
echo quit >&"$IN_fix"
finish

# A program of 64 bits runs one of 32, which runs one of 64; and each is probed.
timeout "$TIMEOUT" "$UPROBE" -o both.txt -e "p:b/wide $FIXTURES/exit_code:work n=%di:s32" \
	-e "p:b/half $F/exit_code:work n=+4(%sp):s32" -e "r:b/r_half $F/exit_code:work \$retval:s32" \
	-- sh -c "$FIXTURES/exit_code exit 0; $F/launch $FIXTURES/exit_code exit 0; $F/exit_code exit 7"
[ $? = 7 ] || fail "both kinds: ended with another status"
expect_both() { [ "$(count "$2" both.txt)" = "$1" ] || fail "not $1 events like $2: $(cat both.txt)"; }
expect_both 2 ' wide: '
expect_both 1 ' half: .* n=7$'
expect_both 1 ' r_half: .* arg1=7$'

# Children of posix_spawn(), which reset all handlers and block all signals, with probes on what
# runs in them; also when nobody is there any more to take their traps.
libc=$(ldd "$F/spawner" | awk '$1 == "libc.so.6" { print $3 }')
[ -f "$libc" ] || fail "no 32-bit C library"
defs=()
for f in dup2 sigprocmask __libc_sigaction execve; do
	defs+=(-e "p:s/$f $libc:$f")
done
NAME=spawner start "$F/spawner"
for how in traced traced killed killed; do
	trace -p "$PID" "${defs[@]}"
	[ $how = traced ] || kill_it
	go spawner
	read -r -t "$TIMEOUT" line <&"$OUT_spawner" || fail "$how: no answer"
	[ "$line" = "0 768" ] || fail "$how: children ended with '$line'"
	[ $how = killed ] || trace_stop
done
echo quit >&"$IN_spawner"
finish spawner
printf 'go\n\n' | "$UPROBE" -o spawned.txt "${defs[@]}" -- "$F/spawner" > said || fail "spawner"
[ "$(tail -n 1 said)" = "0 768" ] || fail "its children ended with '$(tail -n 1 said)'"
[ "$(count ' execve: ' spawned.txt)" -ge 2 ] || fail "no hits in the children"

# Static probes; the values are those that the program prints.
usdt_defs="$F/usdt_forms:forms:*"
echo go | "$USDT" -o usdt.txt -e "$usdt_defs" -- "$F/usdt_forms" > said || fail "usdt"
# A constant of 64 bits is cut by what prints the truth.
tail -n +2 said | grep -v '^constants' > truth
events usdt.txt | sed -E 's/^.*: ([a-z_0-9]+): \(0x[0-9a-f]+\)/\1/; s/^([a-z_0-9]*)_[0-9]+( |$)/\1\2/' |
	grep -v '^constants' > got
[ "$(wc -l < got)" -ge 9 ] || fail "few static probes"
diff -u truth got || fail "static probes: other values"

# Variables and stacks, by debug information; across signal handlers of both kinds.
cat > deep.c <<'C'
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
struct node { int n; struct node *next; const char *name; int64_t wide; unsigned few : 3, more : 5; };
static __thread int own = 5;
const char *names[] = { "a", "b", "c" };
__attribute__((noipa)) int leaf(struct node *p, int64_t w, const short v[3])
{
	own++;
	return p->n + (int)w + v[1];
}
static struct node last = { 2, 0, "bb", -9, 1, 2 }, first = { 1, &last, "aa", 0x123456789abcLL, 5, 17 };
static const short v[3] = { 1, -2, 3 };
static int middle(int n) { volatile char room[100]; room[0] = 1; return leaf(&first, n, v) + room[0]; }
static void on_old(int sig) { middle(sig); __asm__ volatile(""); }
static void on_info(int sig, siginfo_t *si, void *uc) { (void)si, (void)uc; middle(sig); __asm__ volatile(""); }
int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_info, .sa_flags = SA_SIGINFO };
	signal(SIGUSR1, on_old);
	sigaction(SIGUSR2, &sa, 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	return middle(-3) != 1 - 3 - 2 + 1;
}
C
for flags in -O0 -O2; do
	gcc -w -m32 -idirafter /usr/include/x86_64-linux-gnu $flags -fno-inline -g -o deep deep.c ||
		fail "gcc"
	"$UPROBE" -o deep.txt --stack cfi -e 'p:d/leaf ./deep:leaf p->n p->next->name:string p->wide p->next->wide p->few p->more w v[1] names[2]:string own' \
		-- ./deep || fail "deep $flags: $?"
	n=$(count ': leaf: .* n=1 name="bb" wide=20015998343868 wide_2=-9 few=5 more=17 w=(10|12|-3) v=-2 names="c" own=[567]$' deep.txt)
	[ "$n" = 3 ] || fail "variables, $flags: $(cat deep.txt)"
	[ "$(grep -c '=> main+0x' deep.txt)" = 3 ] || fail "stacks, $flags: $(cat deep.txt)"
	for f in on_old on_info raise; do
		grep -q "=> $f+0x" deep.txt || fail "stacks, $flags: no $f: $(cat deep.txt)"
	done
done
