# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The short form of `make check-arm64`: in an emulated arm64 machine some of the unit tests, some
# of each kind of integration test, and a comparison with its kernel's uprobes.
. "$UBP_SRC/tests/integ/lib.bash"

B=$UBP_SRC/build-arm64
[ ! -e "$B/skip" ] || skip "$(cat "$B/skip")"
[ -s "$B/root" ] || skip "build-arm64 is not there: make prepare-arm64"
mapfile -t tests < <(grep -v '^#' "$UBP_SRC/tests/machine/arm64.list")
cd "$UBP_SRC" || exit 1
# It ends before whoever runs this loses patience.
MACHINE_SECONDS=$((${TEST_TIMEOUT:-600} - 40)) TEST_TIMEOUT=240 \
	.ci/check-machine.sh arm64 build-arm64 "$(cat "$B/root")" "${tests[@]}" > "$OLDPWD/log" 2>&1
rc=$?
cd "$OLDPWD" || exit 1
cat log
grep -qE '^[1-9][0-9]* passed, 0 failed' log || fail "tests failed in the machine"
[ $rc = 0 ] || fail "the machine ended with $rc"
