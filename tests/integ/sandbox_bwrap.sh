# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# uprobe in bubblewrap, as root and as an ordinary user: in a root of its own, and the demo
# on the host's files; never a /sys.
. "${0%/*}/lib.bash"
. "${0%/*}/sandboxes.bash"

box_is_full
have bwrap
chmod 777 "$BOX/tmp"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; }
box=(bwrap --unshare-all --bind "$BOX" / --proc /proc --dev /dev --setenv PATH /bin)
as_user "${box[@]}" busybox true 2> err || skip "bubblewrap cannot be started: $(head -n 1 err)"
"${box[@]}" sh /box.sh > out 2>&1
well "bubblewrap as root" out
rm -rf "$BOX"/tmp/*
as_user "${box[@]}" sh /box.sh > out 2>&1
well "bubblewrap as an ordinary user" out

mkdir -p "$DIR/demo/build"
cp -r "${UBP_SRC:?}/docs" "$DIR/demo/" && cp "$UPROBE" "$USDT" "$DIR/demo/build/"
# Of a source that is seen in there, wherever this tree is.
cp "$UBP_SRC/fixtures/hello.c" "$DIR/demo/"
(cd "$DIR/demo" && gcc -w -O1 -g -fno-inline "-ffile-prefix-map=$PWD=/tmp/demo" -o build/hello hello.c) || fail "hello"
chmod -R a+rX "$DIR"
host=(bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /sys --tmpfs /tmp --ro-bind "$DIR/demo" /tmp/demo
	--setenv TMPDIR /tmp --setenv UPROBE /tmp/demo/build/uprobe --setenv USDT /tmp/demo/build/usdt
	--setenv HELLO /tmp/demo/build/hello)
as_user "${host[@]}" /tmp/demo/docs/demo.sh > out 2>&1 < /dev/null || fail "the demo as an ordinary user in bubblewrap: $(tail -n 6 out)"
grep -q '^All traces came as expected' out || fail "the demo said nothing at its end"
