# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Yama lets an ordinary user trace only what was started for it: commands work, others
# are refused with the setting's name.
. "${0%/*}/lib.bash"

[ -e /proc/sys/kernel/yama/ptrace_scope ] || skip "this kernel has no yama (the messages are unit-tested)"
[ "$(yama_scope)" = 1 ] || skip "kernel.yama.ptrace_scope is $(yama_scope), not 1"
another_user args_int
F=$FIX/args_int
echo go | as_user "$FIX/uprobe" -o "$DIR/out" -e "p:u/area $F:area w=%di:s32" -- "$F" > stdout.txt 2> err.txt ||
	fail "as a command: $?"
[ "$(count ' w=' "$DIR/out")" = 3 ] || fail "as a command: no events"
start "$START_AS_USER" "$F"
UPROBE=$UPROBE_AS_USER
refused 'kernel.yama.ptrace_scope is 1.*as a command of ubp' -p "$PID" -e "p:u/area $F:area"
go
finish
