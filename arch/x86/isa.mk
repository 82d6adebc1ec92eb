# SPDX-License-Identifier: LGPL-2.1-or-later
# Its machines, as compilers call them (-print-multiarch, else -dumpmachine).
machines_x86 := x86_64-%
