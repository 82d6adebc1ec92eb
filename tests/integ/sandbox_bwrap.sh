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

# The kernel's tree where there is none: in a container that has /dev/fuse.
if [ -x "${UBP_FS:-}" ] && [ -c /dev/fuse ] && [ "$(id -u)" = 0 ]; then
	mkdir "$DIR/fs" && cp "$UBP_FS" "$FIXTURES/hello" "$DIR/fs/" || fail "cp"
	cat > "$DIR/fs/in.sh" <<-'END'
		mkdir /tmp/t
		/tmp/fs/ubp-fs /tmp/t &
		for i in $(seq 200); do [ -e /tmp/t/uprobe_events ] && break; read -r -t 0.05 <> <(:); done
		main=$(nm /tmp/fs/hello | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
		echo "p:box/e /tmp/fs/hello:0x$main n=%di:s32" >> /tmp/t/uprobe_events || exit
		echo 1 > /tmp/t/events/box/e/enable
		echo go | /tmp/fs/hello > /dev/null
		sed -n 's/.*: e: .* //p' /tmp/t/trace
	END
	timeout "$TIMEOUT" bwrap --die-with-parent --unshare-pid --unshare-ipc --unshare-uts --unshare-net --ro-bind / / --proc /proc --dev /dev --dev-bind /dev/fuse /dev/fuse \
		--tmpfs /sys --tmpfs /tmp --ro-bind "$DIR/fs" /tmp/fs --cap-add CAP_SYS_ADMIN --cap-add CAP_SYS_PTRACE bash /tmp/fs/in.sh > out 2>&1 < /dev/null
	[ "$(cat out)" = n=1 ] || fail "the tree in bubblewrap: $(cat out)"
else
	echo "without the tree: no ubp-fs, no /dev/fuse, or not root"
fi
