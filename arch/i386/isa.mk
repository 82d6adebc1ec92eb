# SPDX-License-Identifier: LGPL-2.1-or-later
# Its machines, as compilers call them (-print-multiarch, else -dumpmachine).
machines_i386 := i386-% i486-% i586-% i686-%
# Of another folder's host half.
host_also_i386 := arch/x86/host_thread.c
