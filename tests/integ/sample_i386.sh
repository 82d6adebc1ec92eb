# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# sample.py with 32-bit programs: there no detour decides, but ubp, on its records.
. "${0%/*}/lib.bash"
need_arch x86_64
[ -x "${UBP_BUILD:?}/fixtures32/sample" ] || skip "gcc cannot build for 32 bits (gcc-12-multilib)"
"$UBP_BUILD/fixtures32/exit_code" exit || skip "this kernel runs no 32-bit programs"
KIND=i386 FIXTURES=$UBP_BUILD/fixtures32 exec python3 "${0%/*}/sample.py"
