# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# On Linux 5.10.
. "${0%/*}/lib.bash"

kernel=$(ls "$cache"/k/5.10/boot/vmlinuz-* 2> /dev/null | tail -n 1)
need_machine other-kernels "${kernel:-$cache/k/5.10/boot/vmlinuz-5.10}"

inside --modules "$cache/k/5.10" --append "tsc=reliable" "$kernel" \
	bash "$top/tests/machine/inside/old_kernel.sh" "${MACHINES:-short}"
