# SPDX-License-Identifier: LGPL-2.1-or-later
# Each fuzzer: all inputs that are kept, then new ones for a second (`make fuzz`: as long as one likes).
# test-seconds: 1500
set -u
make=(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$UBP_SRC" -j2 --no-print-directory)
"${make[@]}" B="${UBP_BUILD#"$UBP_SRC/"}" build-fuzz > log 2>&1 || { grep -v "^  [A-Z]" log | tail -n 60; exit 1; }
[ -e "$FUZZERS/built" ] || { echo "clang has no fuzzers here (package libclang-rt-14-dev)"; exit 77; }
rc=0
for source in "$UBP_SRC"/tests/fuzz/*.c; do
	name=${source##*/}; name=${name%.c}
	corpus=$UBP_SRC/tests/fuzz/corpus/$name
	set -- "$corpus"/*
	[ -e "$1" ] || { echo "$name: no inputs are kept"; exit 1; }
	"$FUZZERS/$name" -timeout=20 "$@" > log 2>&1 || { tail -n 60 log; echo "$name: an input that is kept fails"; rc=1; }
	mkdir -p "new/$name"
	"$FUZZERS/$name" -max_total_time=1 -timeout=20 -max_len=65536 "new/$name" "$corpus" > log 2>&1 ||
		{ tail -n 60 log; echo "$name: a new input fails"; rc=1; }
done
exit $rc
