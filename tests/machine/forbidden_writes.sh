# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# On a kernel that forbids writes to code by /proc/PID/mem (proc_mem.force_override=never).
. "${0%/*}/lib.bash"

kernel=$(ls "$cache"/k/6.1/boot/vmlinuz-* 2> /dev/null | tail -n 1)
need_machine other-kernels "${kernel:-$cache/k/6.1/boot/vmlinuz-6.1}"
inside --modules "$cache/k/6.1" --append "tsc=reliable proc_mem.force_override=never" "$kernel" \
	bash "$top/tests/machine/inside/forbidden_writes.sh" "${MACHINES:-short}"
