# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where nothing near the code is free: what can be moved far away is; what can't is
# refused in plain words, or stepped in place with --force, with a warning.
. "${0%/*}/lib.bash"

need_arch x86_64 aarch64
F=$FIXTURES/crowded
is_x86() { [ "$(uname -m)" = x86_64 ]; }
what=
if is_x86; then
	have objdump
	objdump -d --disassemble=relative "$F" | grep -m 1 -A 1 '<relative>:' | grep -q 'rip' ||
		skip "the compiler made another first instruction"
	what=.*rip
fi
start crowded 50
text_of "$PID" "$F" before
refused "^uprobe: error: process $PID has no free memory near$what.*--force" -p "$PID" -e "p:c/r $F:relative"
text_of "$PID" "$F" after
cmp before after || fail "its code is not what it was"
untraced "$PID"

if is_x86; then
	trace --stats -p "$PID" -n 100 -e "p:c/p $F:plain i=$ARG1:s64" -e "r:c/ret $F:plain v=\$retval:s64"
	go
	finish
	trace_done
	expect_count 50 ' p: '
	expect_count 50 ' ret: '
	grep -q ' c/p .* boosted=1 ' err.txt || fail "plain: not by a far copy"
	start crowded 50
else
	# Every copy ends in a branch, and that does not reach far.
	refused "^uprobe: error: process $PID has no free memory near.*--force" -p "$PID" -e "p:c/p $F:plain"
fi

trace --force --stats -p "$PID" -n 50 -e "p:c/r $F:relative i=$ARG1:s64"
wait_for err.txt '^uprobe: warning: process .*SIGKILL'
go
finish
trace_done
expect_count 50 ' r: '
grep -q ' c/r .* in_place=1' err.txt || fail "relative: not in place"
