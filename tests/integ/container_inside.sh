# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# uprobe inside user, pid, mount, network, uts and ipc namespaces, with no tracefs and
# no privilege outside of them: by unshare and, where it runs, by bubblewrap.
. "${0%/*}/lib.bash"

need_arch x86_64
another_user threads fork_exec confined
have unshare
cp "${0%/*}/lib.bash" "$DIR/bin/"
cat > "$DIR/bin/inner.sh" <<'SH'
. "${0%/*}/lib.bash"
[ ! -e /sys/kernel ] || fail "/sys is not masked"
F=$FIXTURES/threads
start "$F" 2 10
[ "$PID" -lt 1000 ] || fail "this is no pid namespace: $PID"
trace --stats -p "$PID" -e "p:t/tick $F:tick i=%si:s32" -e "r:t/ret $F:tick"
go
finish
trace_done
expect_count 20 ' tick: .* i='
expect_count 20 ' ret: '
[ "$(count "^ *threads-[0-9]{1,3} ")" = 40 ] || fail "pids of another namespace"
grep -q ' unguarded=0 ' err.txt || fail "unguarded"
# A command, its children, what they execute.
F=$FIXTURES/fork_exec
echo go | "$UPROBE" -o out.txt -e "p:f/work $F:work who=%di:s32" -- "$F" spawn > stdout.txt 2> err.txt || fail "command: $?"
expect_count 5 'who=1$'
expect_count 5 'who=3$'
# Every process that maps the file.
F=$FIXTURES/threads
start "$F" 2 10
trace -e "p:t/tick $F:tick"
go
finish
trace_stop
expect_count 20 ' tick: '
echo "all well inside"
SH
cat > "$DIR/bin/enter.sh" <<'SH'
mount -t tmpfs none /sys || exit 76
exec bash "$@"
SH
inside() { # inside WHAT COMMAND...: run inner.sh by it, as root and as an ordinary user
	local what=$1 who
	shift
	for who in root user; do
		rm -rf "$DIR/w"
		mkdir "$DIR/w"
		[ $who = root ] || chown 65534 "$DIR/w"
		(
			cd "$DIR/w" || exit
			export UPROBE=$FIX/uprobe FIXTURES=$FIX
			[ $who = root ] || set -- as_user "$@"
			"$@" "$FIX/inner.sh"
		) > inner.txt 2>&1 || fail "$what as $who: $(cat inner.txt)"
		grep -q 'all well inside' inner.txt || fail "$what as $who: $(cat inner.txt)"
		echo "$what as $who: done"
	done
}
as_user unshare -Urpfmn --mount-proc true 2> /dev/null || skip "no user namespaces for an ordinary user"
inside unshare unshare -Urpfmniu --mount-proc bash "$FIX/enter.sh"
b=(bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /sys --bind "$DIR" "$DIR" --chdir "$DIR/w")
"${b[@]}" true 2> /dev/null || { mkdir -p "$DIR/w"; "${b[@]}" true 2> bwrap.err || skip "the rest needs bubblewrap: $(head -n 1 bwrap.err)"; }
inside bubblewrap "${b[@]}" bash
