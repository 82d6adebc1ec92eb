# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The short form of `make check-arm64`: in an emulated arm64 machine some of the unit tests, some
# of each kind of integration test, and a comparison with its kernel's uprobes.
# test-seconds: 2400
. "$UBP_SRC/tests/integ/lib.bash"

B=$UBP_SRC/build-arm64
mapfile -t tests < <(grep -v '^#' "$UBP_SRC/tests/machine/arm64.list")
mapfile -t goals < <(printf '%s\n' "${tests[@]}" | grep '^build-arm64/'
	sed -n 's/^# fixtures: //p' "$UBP_SRC/tests/machine/arm64.list" | tr ' ' '\n' | sed 's:^:build-arm64/fixtures/:')
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$UBP_SRC" -j2 --no-print-directory prepare-arm64 CFLAGS="$QUICK -g0" \
	GOALS="build-arm64/uprobe build-arm64/usdt ${goals[*]}" > log 2>&1 || fail "it cannot be built: $(tail -n 40 log)"
[ ! -e "$B/skip" ] || skip "$(cat "$B/skip")"
cd "$UBP_SRC" || exit 1
# It ends before whoever runs this loses patience.
MACHINE_SECONDS=$((2360 - SECONDS)) TEST_TIMEOUT=1200 \
	.ci/check-machine.sh arm64 build-arm64 "$(cat "$B/root")" "${tests[@]}" > "$OLDPWD/log" 2>&1
rc=$?
cd "$OLDPWD" || exit 1
cat log
grep -qE '^[1-9][0-9]* passed, 0 failed' log || fail "tests failed in the machine"
[ $rc = 0 ] || fail "the machine ended with $rc"
