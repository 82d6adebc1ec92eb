# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs: a ubp that is killed; libraries that come and go.
. "${0%/*}/lib.bash"
. "${0%/*}/i386_again.bash"

again dlopen killed:12 links return_killed semaphore usdt_killed
