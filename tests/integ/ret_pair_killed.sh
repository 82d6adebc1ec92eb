# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Pairs of jumps that share bytes, at ret instructions and behind them, as short_jump_killed.py has it: killed at each step, or a write fails.
. "${0%/*}/lib.bash"
have python3
KIND=ret_pair exec python3 "${0%/*}/short_jump_killed.py"
