#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# In a machine with an old kernel: old_kernel.sh short|long
. "${0%/*}/lib.bash"

told "$(uname -r)"
export BUSY=1
told "root"
integ attach.sh several.sh semaphore.sh dlopen.sh
# Programs may ask for their thread pointer, or there are no jumps and the traps have to do.
if (($(LD_SHOW_AUXV=1 /bin/true | sed -n 's/^AT_HWCAP2: *//p') & 2)); then integ no_jump.sh; else echo "no jumps here"; fi
told "an ordinary user"
integ_as_user attach.sh several.sh
told "the demo"
docs/demo.sh || wrong "the demo"
if [ "$1" = long ]; then
	told "root, more"
	integ killed.sh later.sh children.sh children_left.sh cpp_exceptions.sh recursion.sh state.sh signals.sh leave.sh \
		leader_gone.sh exec_thread.sh clone_vm_pair.sh links.sh usdt_forms.sh i386.sh seccomp.sh blocked.sh unprivileged.sh
fi
done_here
