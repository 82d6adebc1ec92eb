# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Jumps on ret instructions and the fill behind them, as short_jump_killed.py has it: killed at each step, or a write fails.
. "${0%/*}/lib.bash"
have python3
KIND=ret_fill exec python3 "${0%/*}/short_jump_killed.py"
