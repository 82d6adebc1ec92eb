# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Yama. 1: an ordinary user can trace only what was started for it; 2: nothing; 3: not even
# root can. What is refused is refused with the setting's name, and runs on untraced.
. "${0%/*}/lib.bash"

[ -e /proc/sys/kernel/yama/ptrace_scope ] || skip "this kernel has no yama (the messages are unit-tested)"
scope=$(yama_scope)
[ "$scope" != 0 ] || skip "kernel.yama.ptrace_scope is 0: nothing is forbidden"
another_user args_int
F=$FIX/args_int
def=(-e "p:u/area $F:area w=$ARG1:s32")
real=$UPROBE
# traces: the command and the process are traced, by whoever $UPROBE runs as.
traces_command() {
	echo go | "$UPROBE" -o "$DIR/out" "${def[@]}" -- "$F" > stdout.txt 2> err.txt || fail "as a command: $?"
	[ "$(count ' w=' "$DIR/out")" = 3 ] || fail "as a command: no events"
	rm "$DIR/out"
}
traces_process() {
	start "$START_AS_USER" "$F"
	trace -p "$PID" "${def[@]}"
	go
	finish
	trace_done
	expect_count 3 ' w='
}
refuses_process() { # refuses_process REGEX
	start "$START_AS_USER" "$F"
	refused "$1" -p "$PID" "${def[@]}"
	untraced "$PID"
	go
	finish
}

UPROBE=$UPROBE_AS_USER
case $scope in
1)
	traces_command
	"$UPROBE" --explain "${def[@]}" 2>&1 | grep -q 'all the time: it might not be traced again (kernel.yama' ||
		fail "it does not say that processes stay traced"
	refuses_process 'kernel.yama.ptrace_scope is 1.*as a command of ubp'
	;;
2)
	refused 'kernel.yama.ptrace_scope is 2; run as root' "${def[@]}" -- "$F"
	refuses_process 'kernel.yama.ptrace_scope is 2; run as root \(CAP_SYS_PTRACE\)$'
	;;
*)
	refused 'kernel.yama.ptrace_scope is 3, which forbids all tracing' "${def[@]}" -- "$F"
	refuses_process 'kernel.yama.ptrace_scope is 3, which forbids all tracing'
	;;
esac
UPROBE=$real
if [ "$scope" -lt 3 ]; then
	traces_command
	traces_process
else
	refused 'kernel.yama.ptrace_scope is 3, which forbids all tracing' "${def[@]}" -- "$F"
	refuses_process 'kernel.yama.ptrace_scope is 3, which forbids all tracing'
fi
