# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# On a kernel that has no uprobes, nor tracefs: tests, the demo, yama's settings, as root and as
# an ordinary user. MACHINES=long for all of it.
# test-seconds: 1800
. "${0%/*}/lib.bash"

kernel=$cache/kernel-no-uprobes/bzImage
need_machine no-uprobes-kernel "$kernel"
# With a clock made of the time stamp counter jumps can be had, too.
inside --append "tsc=reliable" "$kernel" bash "$top/tests/machine/inside/no_uprobes.sh" "${MACHINES:-short}"
