# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Debug files in the root of the target, as in containers, and in ours; links there lead
# where they lead in that root.
. "${0%/*}/lib.bash"
need_root
have chroot
have gcc
unset DEBUGINFOD_URLS

cat > prog.c <<'C'
#include <stdio.h>
__attribute__((noinline)) static int hidden(int n) { __asm__ volatile(""); return n + 1; }
int main(void)
{
	char line[8];
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	return hidden(1) != 2;
}
C
gcc -static -O1 -g -Wl,--build-id -o full prog.c || skip "gcc makes no static programs"
id=$(readelf -n full | awk '/Build ID/ { print $3 }')
mkdir -p root/opt "root/usr/lib/debug/.build-id/${id:0:2}" root/elsewhere
strip -o root/opt/app full
objcopy --only-keep-debug full root/elsewhere/real.debug
# Absolute: in our root it leads nowhere.
ln -s /elsewhere/real.debug "root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
printf '#!/bin/sh\nexec chroot %s /opt/app\n' "$PWD/root" > run && chmod 755 run

start "$PWD/run"
trace -p "$PID" "p:/opt/app:hidden n=$ARG1:s32"
go
trace_done
finish
expect_count 1 'hidden: .* n=1$'

# The same where the file is gone: by the link of the process.
NAME=b start "$PWD/run"
rm root/opt/app
trace -p "$PID" "p:app:hid* n=$ARG1:s32"
go b
trace_done
finish b
expect_count 1 'hidden: .* n=1$'

# By name, beside it.
strip -o root/opt/app full
objcopy --remove-section .note.gnu.build-id --add-gnu-debuglink=root/elsewhere/real.debug root/opt/app
rm -r root/usr
mkdir root/opt/.debug
mv root/elsewhere/real.debug root/opt/.debug
NAME=c start "$PWD/run"
trace -p "$PID" "p:/opt/app:hidden n=$ARG1:s32"
go c
trace_done
finish c
expect_count 1 'hidden: .* n=1$'
