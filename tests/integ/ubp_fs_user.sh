# SPDX-License-Identifier: LGPL-2.1-or-later
# ubp-fs of an ordinary user, mounted by fusermount3: in the background, by a shell of that user's, on programs of that user's alone; root looks into it where
# the mount says allow_other, and nobody else does.
. "${0%/*}/lib.bash"

[ -x "$UBP_FS" ] || skip 'ubp-fs is not built: libfuse3 is missing'
need_root
[ -u "$(type -P fusermount3)" ] || skip 'fusermount3 is not there, or not of root (setuid)'
[ "$(yama_scope)" = 0 ] || skip "yama lets no user attach to a process that he did not start"
# What is mounted here is seen by nobody else.
if [ -z "${INSIDE:-}" ]; then
	unshare -m true 2> /dev/null || skip 'there are no mount namespaces'
	INSIDE=1 exec unshare -m bash "$0"
fi
another_user hello
T=$DIR/tracing
end_server() {
	umount -l "$T" 2> /dev/null
	cleanup
	umount -l /dev/fuse "$DIR/dev" /etc/fuse.conf 2> /dev/null
	rm -rf "$DIR"
}
trap end_server EXIT
cp "$UBP_FS" "$FIX/" && mkdir "$DIR/dev" "$T" && chown 65534:65534 "$T" || fail "cp"
if ! as_user test -w /dev/fuse; then
	mount -t tmpfs none "$DIR/dev" && mknod -m 666 "$DIR/dev/fuse" c 10 229 && mount --bind "$DIR/dev/fuse" /dev/fuse 2> /dev/null &&
		as_user bash -c ': <> /dev/fuse' 2> err.txt || skip "no other user can open /dev/fuse here: $(cat err.txt)"
fi
by_user() { as_user env -C "$FIX" bash -c "$1"; }
# mounted [OPTION...]: it runs in the background, when the command ends.
mounted() { by_user "./ubp-fs $* $T" > fs.txt 2>&1 || fail "ubp-fs $*: $(cat fs.txt)"; }
pids() { pgrep -u 65534 -f "^./ubp-fs .*$T\$"; }
is_gone() { [ -z "$(pids)" ]; }
unmounted() {
	by_user "fusermount3 -u $T" || fail "it is not unmounted"
	[ -z "$(ls -A "$T")" ] || fail "it is still mounted"
	eventually is_gone
}

# --- a trace, and nothing of who is another user
mounted
! ls "$T" > out.txt 2> err.txt || fail "root looks into it, without allow_other"
grep -q 'Permission denied' err.txt || fail "root is told: $(cat err.txt)"
# What of root's runs the same file is let alone: its code is as it is in the file. Brief ones of the user's own may be missed, so these wait.
is_planted() { text_of "$1" "$FIX/hello" now && ! cmp -s clean now; }
NAME=roots start "$FIX/hello" roots
NAME=before start "$START_AS_USER" "$FIX/hello" before
text_of "$PID_roots" "$FIX/hello" clean
at=$(foffset_of "$FIX/hello" greet)
by_user "echo 'p:g/greet ./hello:$at name=+0($ARG1):string' >> $T/uprobe_events && echo 1 > $T/events/g/greet/enable" || fail "it cannot be defined"
NAME=later start "$START_AS_USER" "$FIX/hello" later one
for name in before later; do
	eval "eventually is_planted \$PID_$name"
	go $name
	finish $name
done
! is_planted "$PID_roots" || fail "what root runs is traced"
go roots
finish roots
by_user "cat $T/trace" > trace.txt || fail "the trace cannot be read"
sed -nE 's/^ *hello-([0-9]+) .* greet: \(0x[0-9a-f]+\) name=/\1 /p' trace.txt > got.txt
printf '%s "%s"\n' "$PID_before" before "$PID_later" later "$PID_later" one | diff - got.txt || fail "other events: $(cat trace.txt)"
NAME=last start "$START_AS_USER" "$FIX/hello"
eventually is_planted "$PID_last"
unmounted
untraced "$PID_last"
! is_planted "$PID_last" || fail "what was planted is there still"
go last
finish last

# --- who sees it
grep -qx user_allow_other /etc/fuse.conf || {
	! by_user "./ubp-fs -o allow_other $T" 2> err.txt || fail "any user may ask for allow_other"
	grep -q user_allow_other err.txt || fail "it is not told what forbids allow_other: $(cat err.txt)"
}
echo user_allow_other > fuse.conf
mount --bind fuse.conf /etc/fuse.conf || skip "no /etc/fuse.conf to stand in for: all but allow_other has passed"
mounted -o allow_other
[ "$(cat "$T/tracing_on")" = 1 ] || fail "root does not look into it, with allow_other"
! setpriv --reuid 65533 --regid 65533 --clear-groups -- ls "$T" > out.txt 2>&1 || fail "a third user looks into it"
unmounted
exit 0
