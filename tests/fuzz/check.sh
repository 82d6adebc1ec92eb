# SPDX-License-Identifier: LGPL-2.1-or-later
# Each fuzzer, as sanitized tests are built: all inputs that are kept. `make fuzz` looks for new ones.
# test-seconds: 900
set -u
make=(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$UBP_SRC" -j2 --no-print-directory)
built=${REPLAYS%/tests/fuzz}
"${make[@]}" SAN=1 B="${built#"$UBP_SRC/"}" fuzzers > log 2>&1 || { grep -v "^  [A-Z]" log | tail -n 60; exit 1; }
rc=0
for source in "$UBP_SRC"/tests/fuzz/*.c; do
	name=${source##*/}; name=${name%.c}
	set -- "$UBP_SRC/tests/fuzz/corpus/$name"/*
	[ -e "$1" ] || { echo "$name: no inputs are kept"; exit 1; }
	"$REPLAYS/$name" "$@" > log 2>&1 || { tail -n 60 log; echo "$name: an input that is kept fails"; rc=1; }
	[ "$(grep -c "^$UBP_SRC/tests/fuzz/corpus/$name/" log)" = $# ] || { echo "$name: not all inputs were run"; rc=1; }
done
exit $rc
