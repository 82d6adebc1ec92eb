# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: return probes, and who reads return addresses.
. "${0%/*}/lib.bash"
. "${0%/*}/i386_again.bash"

again cpp_exceptions hidden_unwinder open_at_exit recursion stack_moved throw throw_stacks throws
