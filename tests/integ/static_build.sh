# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# make static: uprobe and usdt in a root folder that holds nothing but them, what they trace, and
# /proc: no library, /etc, /tmp, /dev, /sys, no environment; as root and as an ordinary user.
. "${0%/*}/lib.bash"
need_root
have unshare
have make
have setpriv
chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot) || skip "needs chroot"

. "${0%/*}/static.bash"
. "${0%/*}/hardened.bash"
linked_hard "$S/uprobe"
linked_hard "$S/usdt"

ROOT=$(mktemp -d) || fail "mktemp"
trap 'cleanup; umount "$ROOT/proc" 2> /dev/null; rm -rf --one-file-system "$ROOT"' EXIT
chmod 755 "$ROOT"
mkdir "$ROOT/proc"
for f in "$S/uprobe" "$S/usdt" "$FIXTURES/alone"; do
	is_static "$f"
	cp "$f" "$ROOT/"
done

# In a root without /proc: what can be done is done, the rest says why not.
user=65534:65534
inside() { env -i "$chroot" --userspec $user "$ROOT" "$@"; }
inside /uprobe --check p:/alone:area > got || fail "--check: $?"
grep -q '^p:uprobes/area /alone:0x' got || fail "--check: $(cat got)"
inside /uprobe p:/alone:area -- /alone > got 2>&1 < /dev/null && fail "there is no /proc"
[ "$(cat got)" = "uprobe: error: no /proc is mounted here, or not ours" ] || fail "without /proc: $(cat got)"
mount --bind /proc "$ROOT/proc" 2> /dev/null || skip "cannot mount /proc in another root"
unshare -pf env -i "$chroot" "$ROOT" /uprobe p:/alone:area > got 2>&1 && fail "that /proc has other numbers"
[ "$(cat got)" = "uprobe: error: /proc is that of another pid namespace" ] || fail "another /proc: $(cat got)"

# What cannot be static is left out, and said.
env -i DEBUGINFOD_URLS=http://127.0.0.1:1 "$chroot" "$ROOT" /uprobe --check p:/alone:nothing > got 2>&1 && fail "no such function"
grep -q "no function 'nothing' in /alone" got || fail "$(cat got)"
strip -o "$ROOT/bare" "$FIXTURES/alone"
env -i DEBUGINFOD_URLS=http://127.0.0.1:1 "$chroot" "$ROOT" /uprobe --check p:/bare:area > got 2>&1 && fail "it has no names"
grep -q 'use --symbols or --debug-dir; this static build asks no DEBUGINFOD_URLS' got || fail "$(cat got)"

# Whether there can be jumps does not depend on what can be seen of /sys.
echo go | "$S/uprobe" --stats p:$FIXTURES/alone:area -- "$FIXTURES/alone" > out.txt 2> jumps.txt || fail "outside: $?"
command=$(command -v env)
for user in 0:0 65534:65534; do
	printf '#!/bin/sh\nexec %s -i %s --userspec %s %s "$@"\n' "$command" "$chroot" $user "$ROOT" > enter
	printf '#!/bin/sh\nexec %s /uprobe "$@"\n' "$PWD/enter" > uprobe
	chmod 755 enter uprobe
	UPROBE=$PWD/uprobe
	inside /uprobe -l /alone 'a[!l]*' > list.txt || fail "list: $?"
	[ "$(grep -cx 'area\|around' list.txt)" = 2 ] || fail "list: $(cat list.txt)"
	[ "$(inside /usdt -l /alone)" = alone:pass ] || fail "usdt list: $(inside /usdt -l /alone)"
	inside /uprobe --vars area /alone > vars.txt || fail "--vars: $?"
	grep -q 'long *i' vars.txt || fail "--vars: $(cat vars.txt)"
	for mode in jump trap step; do
		# A command: strings, filters, returns, variables by debug information, USDT.
		echo go | inside /uprobe --mode $mode --stats -e 'p:a/area /alone:area i s:string' --filter 'i < 2' \
			-e 'r:a/back /alone:area len=$retval:s64' -- /alone 20 > out.txt 2> err.txt ||
			fail "$mode as $user: $? $(cat err.txt)"
		expect_count 4 ' area: '
		expect_count 2 ' area: .* i=1 s="odd"$'
		expect_count 40 ' back: '
		expect_count 2 ' back: .* len=57$'
		[ $mode != jump ] || ! grep -q ' jumps=1 ' jumps.txt || [ "$(grep -c ' jumps=1 ' err.txt)" = 2 ] ||
			fail "no jumps: $(cat err.txt)"
		echo go | inside /usdt --mode $mode 'alone:pass arg1 arg2:string' -- /alone 20 > out.txt 2> err.txt ||
			fail "usdt $mode as $user: $? $(cat err.txt)"
		expect_count 2 ' pass: .* arg1=19 arg2="odd"$'
		expect_count 40 ' pass: '
		# One that runs: attached by its number, or found by its file.
		for which in by_pid by_file; do
			NAME=t start "$PWD/enter" /alone 200
			p=(--stack=cfi)
			[ $which = by_file ] || p=(--stack=fp -p "$PID")
			trace --mode $mode "${p[@]}" -e 'p:a/area /alone:area i=%di:s64'
			go t
			finish t
			if [ $which = by_pid ]; then trace_done; else trace_stop; fi
			expect_count 400 ' area: .* i='
			[ "$(grep -c '^ => area+0x0 (/alone)$' out.txt)" = 400 ] || fail "no stacks: $(head -n 20 out.txt)"
			[ $which = by_pid ] || [ "$(grep -c '^ => around+0x[0-9a-f]* (/alone)$' out.txt)" = 400 ] ||
				fail "no callers: $(head -n 20 out.txt)"
		done
	done
done
