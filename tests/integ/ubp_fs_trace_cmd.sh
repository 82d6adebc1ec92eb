# SPDX-License-Identifier: LGPL-2.1-or-later
# trace-cmd, unmodified, on the tree of ubp-fs, which is bound over the kernel's in a mount namespace of its own: list, start, show, stat, stop, reset.
. "${0%/*}/lib.bash"

[ -x "$UBP_FS" ] || skip 'ubp-fs is not built: libfuse3 is missing'
[ -w /dev/fuse ] || skip 'there is no /dev/fuse'
need_root
have trace-cmd
[ -d /sys/kernel/tracing ] || skip 'there is no /sys/kernel/tracing to bind over'
grep -q ' tracefs ' /proc/mounts || skip 'no tracefs is mounted, by which trace-cmd finds its tree'
unshare -m true || skip 'no mount namespace can be made'

cp "$FIXTURES/hello" target
mkdir tracing
cat > inside.sh <<'END'
set -e
"$UBP_FS" -f tracing &
# It is in this namespace, too, and so would keep the mount below.
trap 'kill $! && wait $!' EXIT
until [ -e tracing/README ]; do kill -0 $!; done
mount --bind tracing /sys/kernel/tracing
# It asks for the function tracer first, which the machine may have locked.
echo 1 > enabled
[ ! -e /proc/sys/kernel/ftrace_enabled ] || mount --bind enabled /proc/sys/kernel/ftrace_enabled
echo "p:g/greet $PWD/target:$1 n=$2:s32" >> /sys/kernel/tracing/uprobe_events
trace-cmd list -e > list.txt
trace-cmd start -e g:greet
echo go | ./target you too > /dev/null
trace-cmd show > show.txt
trace-cmd stat > stat.txt
trace-cmd stop
cat /sys/kernel/tracing/tracing_on > on.txt
echo go | ./target you > /dev/null
trace-cmd show > stopped.txt
trace-cmd reset
cat /sys/kernel/tracing/uprobe_events > events.txt
END
timeout "$TIMEOUT" unshare -m bash inside.sh "$(foffset_of target greet)" "$ARG2" > out.txt 2> err.txt || fail 'trace-cmd'
[ "$(cat list.txt)" = g:greet ] || fail "list: $(cat list.txt)"
[ "$(events show.txt | sed 's/.*: greet: (0x[0-9a-f]*) //' | tr '\n' ' ')" = 'n=1 n=2 ' ] || fail "show: $(cat show.txt)"
grep -q '^   p:g/greet ' stat.txt && grep -q '^Tracing is enabled' stat.txt || fail "stat: $(cat stat.txt)"
[ "$(cat on.txt)" = 0 ] || fail 'stop'
[ "$(count ' greet: ' stopped.txt)" = 2 ] || fail "what is hit behind stop is traced: $(cat stopped.txt)"
[ ! -s events.txt ] || fail 'reset has left definitions'
