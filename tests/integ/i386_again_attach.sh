# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: attach and detach, by one ubp after the other.
. "${0%/*}/lib.bash"
. "${0%/*}/i386_again.bash"

again attach attach_rounds detach:12 endings kept_apart later leave several traced_by_other
