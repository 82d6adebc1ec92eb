# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# From the host into another user, pid and mount namespace, where the program, its
# library and all of its folder exist nowhere else: by the paths that the target sees,
# by library name, and by /proc/PID/root; pids are the host's. The same for a chroot.
. "${0%/*}/lib.bash"

need_arch x86_64
need_root
have unshare
have gcc
mkdir box
cp "$FIXTURES/threads" "$FIXTURES/fork_exec" box/
cat > lib.c <<'C'
int boxed(int x) { return x + 1; }
C
cat > user.c <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int boxed(int x);
int main(void)
{
	char line[8];
	int sum = 0, status = 0;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 5; i++)
		sum += boxed(i);
	if (fork() == 0)
		_exit(boxed(41));
	wait(&status);
	printf("sum %d child %d\n", sum, WEXITSTATUS(status));
	return sum != 15 || WEXITSTATUS(status) != 42;
}
C
gcc -shared -fPIC -O1 -Wl,-soname,libboxed.so.1 -o box/libboxed.so.1 lib.c &&
	gcc -o box/user user.c box/libboxed.so.1 -Wl,-rpath,/mnt/in/the/box || skip "no compiler"
cat > enter.sh <<SH
mount -t tmpfs none /mnt && mkdir -p /mnt/in/the/box && cp $PWD/box/* /mnt/in/the/box/ || exit 76
cd /mnt/in/the/box
exec /mnt/in/the/box/"\$@"
SH
unshare -Urpfmn --mount-proc true 2> unshare.err || skip "no namespaces: $(cat unshare.err)"
printf '#!/bin/sh\nexec unshare -Urpfmn --mount-proc sh %s/enter.sh "$@"\n' "$PWD" > into
chmod 755 into
B=/mnt/in/the/box
[ ! -e $B ] || skip "$B exists here"

# TARGET: the host's pid of what start ran in there, the child of unshare.
into() {
	start "$PWD/into" "$@"
	read -r TARGET _ < "/proc/$PID/task/$PID/children"
	[ "$(readlink "/proc/$TARGET/exe")" = "$B/$1" ] || fail "$TARGET is not $1 in the box"
	grep -q '^NSpid:.*[[:space:]]1$' "/proc/$TARGET/status" || fail "$TARGET is not 1 in there"
}
# Its path in there; threads by the host's ids.
into threads 2 10
trace -p "$TARGET" -e "p:t/tick $B/threads:tick i=%si:s32" -e "r:t/ret $B/threads:tick"
go
finish
trace_done
expect_count 20 ' tick: .* i='
expect_count 20 ' ret: '

# A path relative to nothing here, and one that exists in neither.
into user
refused "no such|No such" -p "$TARGET" -e "p:u/b $B/nothing:boxed"
# The library by its path, by its name, and libc by its name.
trace -p "$TARGET" -e "p:u/path $B/libboxed.so.1:boxed x=%di:s32" -e "r:u/pathret $B/libboxed.so.1:boxed v=\$retval:s32"
go
finish
trace_done
expect_count 5 ' path: .* x=[0-4]$'
expect_count 5 ' pathret: .* v=[1-5]$'
for name in boxed libboxed.so.1; do
	into user
	trace -p "$TARGET" "p:named $name:boxed x=%di:s32"
	go
	finish
	trace_done
	expect_count 5 ' named: .* x=[0-4]$'
done
into user
trace --json -p "$TARGET" 'p:quit libc:exit code=%di:s32'
go
finish
trace_done
grep -q "\"task\":\"user\"" out.txt || fail "not its name"
grep -q "\"pid\":$TARGET[,}]" out.txt || fail "not the host's pid"

# Through /proc/PID/root, every process that maps it: children inside come along.
into user
trace -e "p:u/all /proc/$TARGET/root$B/libboxed.so.1:boxed x=%di:s32"
go
finish
trace_stop
expect_count 5 ' all: .* x=[0-4]$'
expect_count 1 ' all: .* x=41$'
into fork_exec spawn
trace -e "p:f/work /proc/$TARGET/root$B/fork_exec:work who=%di:s32" -e "r:f/ret /proc/$TARGET/root$B/fork_exec:work"
go
finish
trace_stop
expect_count 5 'who=1$'
expect_count 5 'who=3$'
expect_count 10 ' ret: '

# An ordinary user, in a box of its own: no /proc/PID/map_files, but it owns the box.
another_user
mkdir "$FIX/box"
cp box/* "$FIX/box/"
sed "s|$PWD/box|$FIX/box|" enter.sh > "$FIX/enter.sh"
printf '#!/bin/sh\nexec %s unshare -Urpfmn --mount-proc sh %s/enter.sh "$@"\n' "$START_AS_USER" "$FIX" > into
real=$UPROBE UPROBE=$UPROBE_AS_USER
if [ "$(yama_scope)" = 0 ]; then
	into user
	trace -p "$TARGET" -e "p:u/path $B/libboxed.so.1:boxed x=%di:s32" -e "r:u/ret $B/libboxed.so.1:boxed v=\$retval:s32" \
		-e "p:u/quit libc:exit"
	go
	finish
	trace_done
	expect_count 5 ' path: .* x=[0-4]$'
	expect_count 5 ' ret: .* v=[1-5]$'
	expect_count 1 ' quit: '
fi
UPROBE=$real

# A chroot, in its own mount namespace.
cat > chroot.sh <<SH
mount -t tmpfs none /mnt && cd /mnt && mkdir -p usr box proc etc || exit 76
mount --rbind /usr usr && cp -P /lib /lib64 . 2> /dev/null || cp -aP /lib /lib64 .
cp $PWD/box/* box/
exec chroot /mnt /box/"\$@"
SH
[ -L /lib ] && [ -L /lib64 ] || skip "the rest needs a /lib that is a link"
printf '#!/bin/sh\nexec unshare -m sh %s/chroot.sh "$@"\n' "$PWD" > into
start "$PWD/into" threads 2 10
trace -p "$PID" -e "p:t/tick /box/threads:tick i=%si:s32" -e "p:t/exit libc:exit"
go
finish
trace_done
expect_count 20 ' tick: .* i='
expect_count 1 ' exit: '
