# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# On Linux 4.15, the oldest that there is a package of which ubp works on; and on 4.4, which is too
# old, and told so.
. "${0%/*}/lib.bash"

kernel=$(ls "$cache"/k/4.15/boot/vmlinuz-* 2> /dev/null | tail -n 1)
need_machine other-kernels "${kernel:-$cache/k/4.15/boot/vmlinuz-4.15}"
# Overlays of such kernels do not go with 9p.
inside --plain --modules "$cache/k/4.15" --append "tsc=reliable" "$kernel" \
	bash "$top/tests/machine/inside/old_kernel.sh" "${MACHINES:-short}"
kernel=$(ls "$cache"/k/4.4/boot/vmlinuz-* 2> /dev/null | tail -n 1)
need_machine other-kernels "${kernel:-$cache/k/4.4/boot/vmlinuz-4.4}"
inside --plain --modules "$cache/k/4.4" "$kernel" bash "$top/tests/machine/inside/too_old.sh"
