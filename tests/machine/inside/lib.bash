# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# For what runs inside of a machine. Sourced; the folder is the source's.
set -u
cd "${UBP_SRC:?}" || exit 1
failed=0
export UBP_SLOWER=${UBP_SLOWER:-10} TIMEOUT=${TIMEOUT:-240} TEST_TIMEOUT=${TEST_TIMEOUT:-900} TEST_TAIL=${TEST_TAIL:-30} DEMO_LIMIT=240
export BUSY=1 # of its processors; the rest is for ubp
told() { echo "== $*"; }
wrong() { echo "FAIL  $*"; failed=1; }
# integ NAME...: tests/integ/NAME.sh each, of which none may fail.
integ() { tests/run.bash "${@/#/tests/integ/}" || failed=1; }
# What an ordinary user can read and write, whatever the folders above our own allow.
user_copy() {
	local to
	to=$(mktemp -d) && chmod 755 "$to" && mkdir -p "$to/build" "$to/w" && cp -r tests docs fixtures "$to/" &&
		cp -r "$FIXTURES" "$UPROBE" "$USDT" "$to/build/" && chown 65534 "$to/w" || return 1
	echo "$to"
}
# integ_as_user NAME...
integ_as_user() {
	local copy
	copy=$(user_copy) || { wrong "no copy for an ordinary user"; return; }
	(
		cd "$copy" || exit 1
		export UPROBE=$copy/build/uprobe USDT=$copy/build/usdt FIXTURES=$copy/build/fixtures UBP_BUILD=$copy/build \
			UBP_SRC=$copy TMPDIR=$copy/w HOME=$copy/w
		exec setpriv --reuid 65534 --regid 65534 --clear-groups -- tests/run.bash "${@/#/tests/integ/}"
	) || failed=1
	rm -rf "$copy"
}
# at_once FUNCTION...: run these, which call integ and integ_as_user, at the same time. Each has programs of its
# own: ubp on all processes of a file would meet those of another's tests.
at_once() {
	local lane pid lanes=()
	for lane; do
		(
			own=$(mktemp -d) && chmod 755 "$own" && cp -r "$FIXTURES" "$UPROBE" "$USDT" "$own/" || exit 1
			export FIXTURES=$own/fixtures UPROBE=$own/uprobe USDT=$own/usdt
			"$lane"
			exit $failed
		) &
		lanes+=("$!")
	done
	for pid in "${lanes[@]}"; do wait "$pid" || failed=1; done
}
done_here() {
	[ $failed = 0 ] || exit 1
	echo "the machine is done"
}
