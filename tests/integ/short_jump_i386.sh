# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# short_jump.sh in a 32-bit program.
BITS=32 exec bash "${0%/*}/short_jump.sh"
