# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: signals, and system calls that are restarted.
. "${0%/*}/lib.bash"
. "${0%/*}/i386_again.bash"

again blocked init job_control masked_handler raise_trap restarts rt_signals signals
