# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The demo as an ordinary user without any privilege, on the host and in namespaces of its
# own with an empty /sys: nothing of tracefs is to be had in either.
. "${0%/*}/lib.bash"

need_arch x86_64
another_user hello
have python3
cp "$USDT" "$FIX/usdt"
cp -r "${UBP_SRC:?}/docs" "$DIR/"
chmod -R a+rX "$DIR"
mkdir "$DIR/tmp" && chmod 1777 "$DIR/tmp"
[ "$(yama_scope)" -le 1 ] || skip "yama lets an ordinary user trace nothing"
export UPROBE=$FIX/uprobe USDT=$FIX/usdt HELLO=$FIX/hello TMPDIR=$DIR/tmp
if [ "$(yama_scope)" = 0 ]; then
	! as_user cat /sys/kernel/tracing/uprobe_events > /dev/null 2>&1 || fail "that user has uprobes"
	as_user "$DIR/docs/demo.sh" > out.txt 2>&1 < /dev/null || fail "the demo as an ordinary user"
	grep -q '^All traces came as expected' out.txt || fail "the demo said nothing at its end"
fi
echo 'mount -t tmpfs none /sys && exec "$@"' > "$DIR/enter"
as_user unshare -Urpfmn --mount-proc true 2> err.txt || skip "no user namespaces for an ordinary user: $(cat err.txt)"
as_user unshare -Urpfmn --mount-proc sh "$DIR/enter" "$DIR/docs/demo.sh" > out.txt 2>&1 < /dev/null || fail "the demo in namespaces"
grep -q '^All traces came as expected' out.txt || fail "the demo said nothing at its end"
