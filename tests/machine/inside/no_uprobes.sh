#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# In a machine whose kernel has no uprobes: no_uprobes.sh short|long
. "${0%/*}/lib.bash"

told "$(uname -r): what the kernel does not have"
mkdir -p /run/tracefs
mount -t tracefs tracefs /run/tracefs 2> /dev/null
[ ! -e /run/tracefs/uprobe_events ] && [ ! -e /sys/kernel/tracing/uprobe_events ] ||
	wrong "this kernel has uprobe_events"
[ ! -e /sys/bus/event_source/devices/uprobe ] || wrong "this kernel's perf has uprobes"
[ -d /sys/bus/event_source/devices ] || wrong "there is no perf to have no uprobes"
zcat /proc/config.gz > /run/config && grep -q CONFIG_ARCH_SUPPORTS_UPROBES=y /run/config ||
	wrong "the kernel does not tell its configuration"
! grep -E '^CONFIG_(UPROBES|UPROBE_EVENTS|KPROBES|TRACING)=' /run/config || wrong "this kernel has uprobes"
"$UBP_BENCH" > /run/bench 2>&1 && wrong "ubp-bench found kernel uprobes"
grep -q 'no kernel uprobes here' /run/bench || wrong "ubp-bench: $(cat /run/bench)"

told "root"
integ attach.sh several.sh no_jump.sh semaphore.sh dlopen.sh
told "an ordinary user"
integ_as_user attach.sh several.sh command.sh
told "the demo"
docs/demo.sh || wrong "the demo"
if [ "$1" = long ]; then
	told "root, all the rest that a slow machine can do"
	integ later.sh children.sh jump_state.sh cpp_exceptions.sh throw.sh recursion.sh many_threads.sh state.sh signals.sh rt_signals.sh \
		leave.sh detach.sh children_left.sh clone_vm_pair.sh exec_thread.sh job_control.sh kept_apart.sh leader_gone.sh \
		links.sh raise_trap.sh restarts.sh return_cold.sh rings.sh same_pipe.sh seccomp.sh undumpable.sh wx.sh \
		usdt_forms.sh usdt_semaphores.sh floats.sh json.sh globs.sh source_lines.sh symbols_files.sh symbols_root.sh \
		stack_returns.sh stack_names.sh only_these.sh traced_by_other.sh text_differs.sh no_ptrace_cap.sh i386.sh \
		container_host.sh container_inside.sh proc_read_only.sh sandboxes.sh killed.sh jump_bad_pointers.sh
	told "an ordinary user, the same"
	integ_as_user later.sh no_jump.sh semaphore.sh dlopen.sh children.sh signals.sh leave.sh usdt_forms.sh
fi
# It cannot be lowered again from 3.
for scope in 0 1 2 3; do
	told "kernel.yama.ptrace_scope=$scope"
	echo $scope > /proc/sys/kernel/yama/ptrace_scope || wrong "yama does not take $scope"
	[ $scope = 0 ] && integ unprivileged.sh || integ yama.sh
done
done_here
