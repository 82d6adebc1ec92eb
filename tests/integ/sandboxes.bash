# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# For the tests of sandboxes. Sourced, behind lib.bash: uprobe with the libraries it needs, two
# programs and a static busybox, in a folder that can be a root: $BOX.

need_arch x86_64
need_root
have busybox
have setpriv
box_is_full() { # what is to be run in a sandbox whose root is $BOX: box.sh
	local lib busybox entry
	DIR=$(mktemp -d) || fail "mktemp"
	trap 'cleanup; rm -rf "$DIR"' EXIT
	BOX=$DIR/box
	mkdir -p "$BOX"/{bin,proc,dev,sys,tmp,etc,usr/bin,run,var,root}
	chmod 755 "$DIR" "$BOX" && chmod 1777 "$BOX/tmp"
	busybox=$(command -v busybox)
	! readelf -lW "$busybox" | grep -q INTERP || skip "needs a static busybox"
	cp "$busybox" "$BOX/bin/busybox"
	for tool in sh cat grep mkfifo wc rm mkdir id ls mount test env tail sed; do ln -s busybox "$BOX/bin/$tool"; done
	cp "$UPROBE" "$FIXTURES/hello" "$FIXTURES/threads" "$BOX/bin/"
	for lib in $(ldd "$UPROBE" "$FIXTURES/hello" "$FIXTURES/threads" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
		mkdir -p "$BOX${lib%/*}"
		cp -L "$lib" "$BOX$lib"
	done
	echo 'root:x:0:0:root:/:/bin/sh' > "$BOX/etc/passwd"
	echo 'NAME=box' > "$BOX/etc/os-release"
	# Where a stripped static program begins: place and offset in the file are the same.
	entry=$(python3 - "$busybox" <<'PY'
import struct, sys
d = open(sys.argv[1], "rb").read()
entry, phoff = struct.unpack_from("<QQ", d, 24)
size, n = struct.unpack_from("<HH", d, 54)
for i in range(n):
    kind, _, off, va, _, filesz = struct.unpack_from("<IIQQQQ", d, phoff + i * size)
    if kind == 1 and va <= entry < va + filesz:
        print(hex(entry - va + off))
PY
	) || fail "no entry in $busybox"
	# What is a jump outside is one inside.
	echo go | "$UPROBE" --stats -o out.txt -e "p:t/tick $FIXTURES/threads:tick" -e "r:t/ret $FIXTURES/threads:tick" \
		-- "$FIXTURES/threads" 2 10 > stdout.txt 2> err.txt || fail "outside: $?"
	JUMPS=$(grep -c ' t/[a-z]* .* jumps=1 ' err.txt)
	cat > "$BOX/box.sh" <<SH
fail() { echo "FAIL: \$*"; ls -l; cat err out 2> /dev/null; exit 1; }
cd /tmp || exit 1
[ ! -e /sys/kernel/tracing/uprobe_events ] && [ ! -e /sys/kernel/debug/tracing/uprobe_events ] || fail "tracefs is here"
# A command.
echo go | uprobe -o out -e 'p:h/greet /bin/hello:greet name=+0(%di):string' -e 'r:h/len /bin/hello:greet v=\$retval:s32' \
	-- /bin/hello you world > std 2> err || fail "a command: \$?"
grep -q ' greet: .* name="you"\$' out && grep -q ' greet: .* name="world"\$' out || fail "a command: no events"
[ "\$(grep -c ' len: ' out)" = 2 ] || fail "a command: no returns"
grep -qx 8 std || fail "a command: its output"
# A static one without symbols.
uprobe -o out -e 'p:b/start /bin/busybox:$entry sp=%sp' -- /bin/busybox id > std 2> err || fail "busybox: \$?"
[ "\$(grep -c ' start: .* sp=0x' out)" = 1 ] || fail "busybox: no event"
# A running process.
mkfifo in ready told || fail mkfifo
/bin/threads 2 10 < in > told &
pid=\$!
exec 3> in 4< told
read -r line rest <&4 && [ "\$line" = ready ] || fail "threads: \$line"
uprobe --ready-fd 8 --stats -p \$pid -e 'p:t/tick /bin/threads:tick i=%si:s32' -e 'r:t/ret /bin/threads:tick' > out 2> err 8> ready &
tracer=\$!
read -r line < ready && [ "\$line" = ready ] || fail "-p: not ready"
echo go >&3
wait \$pid || fail "threads: \$?"
wait \$tracer || fail "-p: \$?"
[ "\$(grep -c ' tick: .* i=' out)" = 20 ] && [ "\$(grep -c ' ret: ' out)" = 20 ] || fail "-p: events"
grep -q ' unguarded=0 ' err || fail "unguarded"
[ "\$(grep -c ' t/[a-z]* .* jumps=1 ' err)" = $JUMPS ] || fail "not $JUMPS places are jumps"
echo "all well in the box, id \$(id -u)"
SH
}
# well WHAT FILE: what box.sh said at its end.
well() { grep -q '^all well in the box' "$2" || fail "$1: $(cat "$2")"; }
# target_in_box: TARGET is the host's pid of the threads that run in there.
target_in_box() {
	local pid
	TARGET=
	for pid in $(pgrep -x threads); do
		[ ! -e "/proc/$pid/root/box.sh" ] || TARGET=$pid
	done
	[ -n "$TARGET" ] || fail "no threads run in the box"
}
# podman_here: RUN is what runs a container without network; what follows are options, --rootfs FOLDER
# and the command. Its files are in $DIR.
podman_here() {
	have podman
	have unshare
	# Without a unified cgroup podman asks for none; in a mount namespace of its own, it and we can do without.
	cat > private <<'SH'
for m in $(grep ' cgroup2 ' /proc/self/mounts | cut -d ' ' -f 2); do umount -l "$m"; done
exec "$@"
SH
	RUN=(unshare -m sh "$PWD/private" podman --root "$DIR/podman" --runroot "$DIR/podman.run" --tmpdir "$DIR/podman.tmp"
		run --rm -i --network none --cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
}
