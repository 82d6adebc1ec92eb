# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# On Linux 4.4, the oldest that there is a package of.
. "${0%/*}/lib.bash"

kernel=$(ls "$cache"/k/4.4/boot/vmlinuz-* 2> /dev/null | tail -n 1)
need_machine other-kernels "${kernel:-$cache/k/4.4/boot/vmlinuz-4.4}"
# Its overlays do not go with 9p.
inside --plain --modules "$cache/k/4.4" --append "tsc=reliable" "$kernel" \
	bash "$top/tests/machine/inside/old_kernel.sh" "${MACHINES:-short}"
