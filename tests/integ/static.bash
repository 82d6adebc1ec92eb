# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# For tests of what `make static` builds: that is done, into $S. Sourced, behind lib.bash.
B=$(realpath --relative-to="$UBP_SRC" "$UBP_BUILD")
# Two tests want it, perhaps at the same time.
flock "$UBP_BUILD/flags" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$UBP_SRC" -j2 --no-print-directory B="$B" CFLAGS="$QUICK" static > build.txt 2>&1 ||
	fail "it does not build: $(tail -n 20 build.txt)"
grep -i 'warning' build.txt && fail "it does not build without a word"
tail -n 2 build.txt
S=$UBP_BUILD-static
is_static() {
	readelf -ldW "$1" > elf.txt || fail "readelf $1"
	! grep -q 'INTERP\|NEEDED' elf.txt || fail "$1 is not static"
}
