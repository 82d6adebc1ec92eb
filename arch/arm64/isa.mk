# SPDX-License-Identifier: LGPL-2.1-or-later
# Its machines, as compilers call them (-print-multiarch, else -dumpmachine).
machines_arm64 := aarch64-%
# What its cross compiler's name begins with (make cross-arm64).
cross_arm64 := aarch64-linux-gnu-
