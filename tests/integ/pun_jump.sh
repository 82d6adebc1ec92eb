# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where neither a jump nor a short one has room, a part of a jump is written: planted and taken out under load, and so on, as
# short_jump.sh does it. Then python3, of which many functions are so short: by such jumps the same is told as by breakpoints.
export KIND=punned
bash "${0%/*}/short_jump.sh" || exit
. "${0%/*}/lib.bash"
