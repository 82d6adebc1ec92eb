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
[ $failed = 0 ] || exit 1 # the rest would show nothing

if [ "$1" = short ]; then
	told "root"
	MODE=auto integ tour.sh
fi
told "an ordinary user"
integ_as_user attach.sh
told "the demo"
docs/demo.sh || wrong "the demo"
if [ "$1" = long ]; then
	told "root; an ordinary user, more"
	first() {
		integ attach.sh tour.sh no_jump.sh several.sh semaphore.sh dlopen.sh later.sh children.sh
		export UBP_MODES=auto # of what depends on no kernel
		integ children_left.sh cpp_exceptions.sh recursion.sh state.sh signals.sh leave.sh detach.sh exec_thread.sh leader_gone.sh \
			undumpable.sh json.sh symbols_root.sh traced_by_other.sh container_host.sh container_inside.sh
	}
	second() {
		export UBP_MODES=auto
		integ job_control.sh restarts.sh seccomp.sh usdt_forms.sh source_lines.sh stack_names.sh text_differs.sh \
			no_ptrace_cap.sh proc_read_only.sh forbidden_calls.sh blocked.sh killed.sh unprivileged.sh
		integ_as_user several.sh command.sh no_jump.sh semaphore.sh dlopen.sh children.sh signals.sh leave.sh \
			usdt_forms.sh
	}
	at_once first second
fi
# It cannot be lowered again from 3.
for scope in 1 2 3; do
	told "kernel.yama.ptrace_scope=$scope"
	echo $scope > /proc/sys/kernel/yama/ptrace_scope || wrong "yama does not take $scope"
	integ yama.sh
done
done_here
