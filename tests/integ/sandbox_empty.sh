# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The static uprobe in containers with nothing else but it and a static program that it traces: podman,
# as root and as an ordinary user, and systemd-nspawn. (They make /dev, /proc and the like.)
. "${0%/*}/lib.bash"
. "${0%/*}/sandboxes.bash"
. "${0%/*}/static.bash"

DIR=$(mktemp -d) || fail "mktemp"
trap 'cleanup; rm -rf "$DIR"' EXIT
chmod 755 "$DIR"
# empty NAME: BOX is a new root.
empty() {
	local f
	BOX=$DIR/$1
	mkdir "$BOX"
	for f in "$S/uprobe" "$S/usdt" "$FIXTURES/alone"; do
		is_static "$f"
		cp "$f" "$BOX/"
	done
}
echo go | "$S/uprobe" --stats -o out.txt -e "p:a/area $FIXTURES/alone:area" -- "$FIXTURES/alone" > stdout.txt 2> err.txt ||
	fail "outside: $?"
jumps=$(grep -c ' jumps=1 ' err.txt)
# traces WHAT COMMAND...: the program, in a container that the command starts.
traces() {
	local what=$1
	shift
	echo go | "$@" /uprobe --stats --stack=fp -e 'p:a/area /alone:area i s:string' -e 'r:a/back /alone:area len=$retval:s64' \
		-- /alone 20 > out.txt 2> err.txt || fail "$what: $?"
	expect_count 40 ' area: '
	expect_count 2 ' area: .* i=1 s="odd"'
	expect_count 40 ' back: '
	expect_count 2 ' back: .* len=57'
	grep -q '^ => area+0x0 (/alone)' out.txt || fail "$what: no stacks"
	grep -aq ' unguarded=0 ' err.txt out.txt || fail "$what: unguarded"
	[ "$jumps" = 0 ] || grep -aq ' a/area .* jumps=1 ' err.txt out.txt || fail "$what: no jump"
	echo go | "$@" /usdt 'alone:pass arg1 arg2:string' -- /alone 20 > out.txt 2> err.txt || fail "$what: usdt: $?"
	expect_count 40 ' pass: '
	expect_count 2 ' pass: .* arg1=19 arg2="odd"'
}
done=''
empty podman
podman_here
if "${RUN[@]}" --rootfs "$BOX" /uprobe --version > out.txt 2>&1 < /dev/null; then
	for id in 0 65534; do
		traces "podman as $id" "${RUN[@]}" --user $id:$id --rootfs "$BOX"
		done+=" podman($id)"
	done
else
	echo "podman starts no container here: $(tail -n 1 out.txt)"
fi
empty nspawn
mkdir "$BOX/usr" # or it is taken for a mistake
have systemd-nspawn
nspawn=(systemd-nspawn --quiet --register=no --keep-unit --private-network --pipe -D "$BOX")
if "${nspawn[@]}" /uprobe --version > out.txt 2>&1 < /dev/null; then
	traces systemd-nspawn "${nspawn[@]}"
	done+=" systemd-nspawn"
else
	echo "systemd-nspawn starts no container here: $(tail -n 1 out.txt)"
fi
[ -n "$done" ] || skip "no container can be started here"
echo "in$done"
