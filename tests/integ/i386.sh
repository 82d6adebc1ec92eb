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
wait_for out.txt ' r_struct: '
trace_stop
for f in cdecl stdcall fastcall regparm struct wide; do
	[ "$(count " $f: ")" -gt 10 ] && [ "$(count " r_$f: ")" -gt 10 ] || fail "few hits of $f"
done
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
