# SPDX-License-Identifier: LGPL-2.1-or-later
# test-mounts
# The kernel's own tests of its tracing tree, unmodified, on the tree of ubp-fs, which is bound over the kernel's in a mount namespace of its own: those
# that need nothing but what ubp-fs has. Each is to pass, in the tree and, where it is for these, in a folder of instances/.
# test-seconds: 120
. "${0%/*}/lib.bash"

[ -x "$UBP_FS" ] || skip 'ubp-fs is not built: libfuse3 is missing'
[ -w /dev/fuse ] || skip 'there is no /dev/fuse'
need_root
TESTS=${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}/selftests
[ -x "$TESTS/ftracetest" ] || skip 'NOT PROVED HERE: there are no tests of the kernel (.ci/tree-programs.sh selftests)'
[ -d /sys/kernel/tracing ] || skip 'there is no /sys/kernel/tracing to bind over'
unshare -m true || skip 'no mount namespace can be made'

CASES='
00basic/basic1.tc
00basic/basic2.tc
00basic/basic3.tc
00basic/ringbuffer_size.tc
00basic/snapshot.tc
00basic/trace_pipe.tc
dynevent/add_remove_uprobe.tc
instances/instance.tc
kprobe/uprobe_syntax_errors.tc
trigger/inter-event/trigger-synthetic-event-createremove.tc
trigger/inter-event/trigger-synthetic-event-syntax.tc
'
mkdir tracing
cat > inside.bash <<'END'
set -eu
"$UBP_FS" -f tracing &
fs=$!
# It is in this namespace, too, and so would keep the mount below.
trap 'kill $fs && wait $fs' EXIT
until [ -e tracing/README ]; do kill -0 $fs; done
# The tests look for it in /proc/mounts, as a tracefs; another one may be below /sys/kernel/debug.
grep -q '^[^ ]* /sys/kernel/tracing tracefs' /proc/mounts || mount -t tracefs tracefs /sys/kernel/tracing
mount --bind tracing /sys/kernel/tracing
here=$PWD
cd "$TESTS"
# shellcheck disable=SC2046
./ftracetest --logdir "$here/logs" $(printf ' test.d/%s' $CASES)
END
export TESTS CASES
timeout "$TIMEOUT" unshare -m bash inside.bash > log.txt 2>&1
rc=$?
cat log.txt
grep -E '\[(FAIL|UN[A-Z]*|XFAIL)\]' log.txt && { tail -n 30 logs/*-log.*; fail 'some of the kernel'"'"'s tests do not pass'; }
[ $rc = 0 ] || fail "ftracetest ended with $rc"
n=$(grep -c '\[PASS\]' log.txt)
[ "$n" -ge "$(echo "$CASES" | grep -c .)" ] || fail "$n tests passed"
