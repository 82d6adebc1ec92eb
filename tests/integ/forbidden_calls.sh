# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp where something is forbidden to it that it would like to use: /proc/PID/mem cannot be opened for
# writing, or written; no process_vm_readv(), no process_vm_writev(). It does with what is left. What
# cannot be done is one line, and the target runs on.
. "${0%/*}/lib.bash"

have python3
in_modes auto trap
F=$FIXTURES/threads
real=$UPROBE
# without WHAT...: $UPROBE is one to which that is forbidden.
without() {
	printf '#!/bin/sh\nexec %s %s %s -- %s "$@"\n' "$(command -v python3)" "${0%/*}/lib/without.py" "$*" "$real" > without
	chmod 755 without
	UPROBE=$PWD/without
	"$UPROBE" --version > out.txt 2>&1
	case $? in
	0) ;;
	77) [ "$*" = landlock ] || skip "$(cat out.txt)"; return 1 ;;
	*) fail "without $*: --version" ;;
	esac
}
defs=(-e "p:t/tick $F:tick w=+0(%sp):x64 i=$ARG2:s32" -e "r:t/ret $F:tick")
ways=(writing pwrite64 process_vm_readv process_vm_writev "process_vm_readv process_vm_writev"
	"writing process_vm_readv process_vm_writev" landlock)
# What is read and written for a jump is more than for a breakpoint, and all that a breakpoint needs.
[ "$MODE" = auto ] || long || ways=(pwrite64 "writing process_vm_readv process_vm_writev" landlock)
! slow || ways=("pwrite64 process_vm_readv" "${ways[@]: -2}")
cannot=
for what in "${ways[@]}"; do
	# shellcheck disable=SC2086 # several
	without $what || { cannot=${cannot:+$cannot; }$(cat out.txt); continue; }
	# Of whom landlock lets anybody trace: those it started.
	if [ "$what" != landlock ]; then
		start "$F" 2 10
		trace --stats -p "$PID" -s "${defs[@]}"
		go
		finish
		trace_done
		expect_count 20 ' tick: .* w=0x[0-9a-f]+ i='
		expect_count 20 ' ret: '
		[ "$(grep -c '^ => tick+0x0 ' out.txt)" = 20 ] || fail "without $what: stacks"
		grep -q ' unguarded=0 ' err.txt || fail "without $what: unguarded"
	fi
	# A command has the same filter, if one can tell (Linux 5.9).
	if ! grep -q '^Seccomp_filters:' /proc/self/status; then
		cannot="this kernel does not tell how many filters a process has"
		continue
	fi
	echo go | "$UPROBE" -o out.txt "${defs[@]}" -- "$F" 2 10 > stdout.txt 2> err.txt || fail "without $what: a command: $?"
	expect_count 20 ' tick: .* w=0x[0-9a-f]+ i='
	expect_count 20 ' ret: '
done

# refuses REGEX: a running process, which is not harmed.
refuses() {
	start "$F" 2 10
	refused "$1" -p "$PID" "${defs[@]}"
	untraced "$PID"
	go
	finish
}
without ptrace
refuses 'cannot use ptrace at all: '
without landlock && refuses 'no permission to trace process [0-9]+: a security module'
[ -z "$cannot" ] || skip "$cannot: of the rest all passed"
