#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# In a machine with an old kernel: old_kernel.sh short|long
. "${0%/*}/lib.bash"

told "$(uname -r)"
# Ubuntu's begin with 1.
scope=/proc/sys/kernel/yama/ptrace_scope
if [ -e $scope ] && [ "$(cat $scope)" != 0 ]; then
	told "kernel.yama.ptrace_scope=$(cat $scope)"
	integ yama.sh
	echo 0 > $scope || wrong "yama does not take 0"
fi
if [ "$1" = short ]; then
	told "root"
	MODE=auto integ attach.sh tour.sh
fi
told "an ordinary user"
MODE=auto integ_as_user attach.sh
if [ "$1" = long ]; then
	told "the demo"
	docs/demo.sh || wrong "the demo"
	told "root"
	first() {
		integ attach.sh tour.sh several.sh semaphore.sh dlopen.sh killed.sh later.sh children.sh children_left.sh \
			recursion.sh
	}
	second() {
		export UBP_MODES=${UBP_MODES:-auto} # of what depends on no kernel
		integ state.sh signals.sh leave.sh exec_thread.sh links.sh usdt_forms.sh seccomp.sh blocked.sh \
			unprivileged.sh forbidden_calls.sh
	}
	at_once first second
fi
done_here
