# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: they are let go of.
. "${0%/*}/lib.bash"
. "${0%/*}/i386_again.bash"

again let_go let_go_ns let_go_odd let_go_returns
