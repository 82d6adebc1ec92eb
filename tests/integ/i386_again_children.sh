# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: threads, children, programs that execute others.
. "${0%/*}/lib.bash"
. "${0%/*}/i386_again.bash"

again children children_left vfork_return clone_vm_pair exec_thread follow tracers leader_gone many_threads state
