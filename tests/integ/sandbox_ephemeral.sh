# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# An ephemeral container beside another one, as "kubectl debug --target" and AWS Fargate's tasks have it: the same pids, another root, CAP_SYS_PTRACE and no other
# capability, no_new_privs, the default seccomp profile (docs/many-hosts.md). It traces the other's program, which has the usual capabilities and the same profile.
. "${0%/*}/lib.bash"
. "${0%/*}/sandboxes.bash"

box_is_full
have python3
LIB=$(cd "${0%/*}/lib" && pwd)
profile=${SECCOMP_PROFILE:-/usr/share/containers/seccomp.json}
[ ! -e "$profile" ] || export SECCOMP_PROFILE=$profile
USUAL=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
cp -r "$BOX" "$DIR/app"
rm "$DIR/app/bin/uprobe"
mkfifo "$DIR/told" "$DIR/in" "$DIR/ready"
python3 "$LIB/contained.py" --caps sys_ptrace -- /bin/true 2> err.txt || skip "no seccomp filters by libseccomp here: $(cat err.txt)"

# The pod: pids of its own. What runs in it says what its pid is there.
cat > pod.sh <<SH
set -eu
mount -t proc proc /proc
mount -t proc proc $DIR/app/proc
mount -t proc proc $BOX/proc
python3 $LIB/contained.py --caps $USUAL --root $DIR/app -- /bin/threads 2 10 < $DIR/in > $DIR/told &
app=\$!
exec 3> $DIR/in 4< $DIR/told
read -r line rest <&4 && [ "\$line" = ready ]
contained() { python3 $LIB/contained.py --caps sys_ptrace --root $BOX -- "\$@"; }
contained /bin/grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status > rights
! python3 $LIB/contained.py --root $BOX -- /bin/uprobe -p \$app p:/bin/threads:tick > none 2>&1 || { echo "without CAP_SYS_PTRACE, too"; exit 1; }
contained /bin/uprobe -l -p \$app 'tick*' > list 2> list.err || { echo "-l: \$?"; cat list.err; exit 1; }
contained /bin/uprobe --ready-fd 8 --stats -p \$app -e 'p:t/tick /bin/threads:tick i=%si:s32' -e 'r:t/ret /bin/threads:tick' > out 2> err 8> $DIR/ready &
tracer=\$!
read -r line < $DIR/ready || { cat err; exit 1; }
[ "\$line" = ready ] || { echo "not ready: \$line"; cat err; exit 1; }
echo go >&3
wait \$app || { echo "the program: \$?"; exit 1; }
wait \$tracer || { echo "uprobe: \$?"; cat err; exit 1; }
SH
unshare -pfm --kill-child bash pod.sh > pod.txt 2>&1 || fail "in the pod: $(cat pod.txt err 2> /dev/null)"
grep -qx 'CapEff:	0000000000080000' rights && grep -qx 'CapBnd:	0000000000080000' rights &&
	grep -qx 'NoNewPrivs:	1' rights && grep -qx 'Seccomp:	2' rights || fail "other rights: $(cat rights)"
grep -q 'no permission to trace process .*CAP_SYS_PTRACE' none || fail "without CAP_SYS_PTRACE: $(cat none)"
grep -q tick list || fail "no list: $(cat list)"
[ "$(grep -c ' tick: .* i=' out)" = 20 ] && [ "$(grep -c ' ret: ' out)" = 20 ] || fail "events: $(cat out err)"
grep -q ' unguarded=0 ' err || fail "unguarded: $(cat err)"
[ "$(grep -c ' t/[a-z]* .* jumps=1 ' err)" = "$JUMPS" ] || fail "not $JUMPS places are jumps: $(cat err)"
[ -n "${SECCOMP_PROFILE:-}" ] || skip "passed with what the usual profiles forbid; no profile of a container engine is here (make check-hosts fetches two)"
