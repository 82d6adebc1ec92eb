# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# short_jump_killed.py with punned jumps, for which memory is mapped, too.
KIND=punned exec python3 "${0%/*}/short_jump_killed.py"
