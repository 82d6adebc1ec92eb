# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit programs as they are in use: bash, Python and busybox with a probe on each of their functions say
# and do what they do without. They are not fetched for this: it takes them from where they are.
. "${0%/*}/lib.bash"
need_arch x86_64
need_root # to run them in a root of their own
R=${UBP_CACHE:-$HOME/.cache/ubp}/root-i386-run
for f in bin/bash bin/busybox usr/bin/python3; do
	[ -x "$R/$f" ] || skip "no $f in $R: ROOT_NAME=i386-run .ci/root.sh i386 bash busybox-static python3"
done
chroot "$R" /bin/busybox true || skip "this kernel runs no 32-bit programs"
in_modes auto trap

# same_as_untraced NAME ARG...: traced by uprobe's "${defs[@]}" the command says the same, and ends so.
same_as_untraced() {
	local name=$1 want rc
	shift
	chroot "$R" "$@" > "$name.want" 2>&1
	want=$?
	timeout "$TIMEOUT" "$UPROBE" -o "$name.txt" "${defs[@]}" -- chroot "$R" "$@" > "$name.said" 2>&1
	rc=$?
	grep -v '^uprobe: warning: ' "$name.said" | diff -u "$name.want" - || fail "$name says something else"
	[ $rc = $want ] || fail "$name ended with $rc, not $want"
}
at_least() { # at_least NAME N REGEX
	local n
	n=$(count "$3" "$1.txt")
	[ "$n" -ge "$2" ] || fail "$1: $n events like $3"
}
as_many() { # as_many NAME EVENT...: entered and left as often
	local name=$1 f
	shift
	for f; do
		[ "$(count " e_$f: " "$name.txt")" = "$(count " r_$f: " "$name.txt")" ] || fail "$name: $f: not as many returns"
	done
}

script='f() { [ $1 = 0 ] && return 3; f $(($1 - 1)); }
x=; trap "x=\${x}u" USR1
for i in 1 2 3 4 5; do x=$x$(echo $i | cat); kill -USR1 $$; done
(exit 7); x=$x$?
f 20; echo $? $x'
libc=$R/lib/i386-linux-gnu/libc.so.6
defs=(-e "p:b/all $R/bin/bash:* a=+4(%sp):x32" -e "p:b/e_xmalloc $R/bin/bash:xmalloc n=+4(%sp):u32"
	-e "r:b/r_xmalloc $R/bin/bash:xmalloc \$retval:x32" -e "r:b/malloc $libc:malloc \$retval:x32"
	-e "p:b/fork $libc:fork" -e "p:b/write $libc:write n=+12(%sp):u32")
same_as_untraced bash /bin/bash -c "$script"
at_least bash 1000 ' all_.* a=0x'
at_least bash 5 ' fork: '
as_many bash xmalloc
defs=(-e "r:b/all $R/bin/bash:* \$retval:x32")
same_as_untraced bash_returns /bin/bash -c "$script"
at_least bash_returns 1000 ' all_.* arg1=0x'

defs=(-e "p:p/all $R/usr/bin/python3.11:PyObject_* a=+4(%sp):x32" -e "r:p/r_all $R/usr/bin/python3.11:PyErr_* \$retval:x32"
	-e "p:p/e_tuple $R/usr/bin/python3.11:PyTuple_New n=+4(%sp):s32" -e "r:p/r_tuple $R/usr/bin/python3.11:PyTuple_New"
	-e "p:p/libc $libc:*read*")
same_as_untraced python /usr/bin/python3 -S -c '
import os, threading
def f(n):
    if n == 0:
        raise ValueError(n)
    return f(n - 1)
def work(out):
    for i in range(50):
        try:
            f(i % 9)
        except ValueError as e:
            out.append(i)
outs = [[] for _ in range(3)]
threads = [threading.Thread(target=work, args=(o,)) for o in outs]
[t.start() for t in threads]
[t.join() for t in threads]
pid = os.fork()
if pid == 0:
    os._exit(len(outs[0]) % 256)
print([sum(o) for o in outs], os.waitpid(pid, 0)[1], 2 ** 100, 0.1 + 0.2)'
at_least python 1000 ' all_PyObject_.* a=0x'
at_least python 50 ' r_all_PyErr_'
as_many python tuple

# It is static and has no symbols, but its unwind information tells where functions are.
# What is loaded at 0x8048000 is all of the file.
for at in $(readelf --debug-dump=frames "$R/bin/busybox" | sed -n 's/.* pc=0*\([0-9a-f]*\)\.\..*/\1/p' | sort -u); do
	off=$(printf '%x' $((0x$at - 0x8048000)))
	echo "p:s/f_$off $R/bin/busybox:0x$off"
done > all
refused=0
while ! "$UPROBE" --check -f all > /dev/null 2> err.txt; do
	bad=$(sed -n 's/^  p:s\/\(f_[^ ]*\) .*/\1/p' err.txt)
	[ -n "$bad" ] && [ $((++refused)) -le 20 ] || fail "busybox: $(cat err.txt)"
	sed -i "/$bad /d" all
done
defs=(-f all)
same_as_untraced busybox /bin/busybox sh -c "$script; ls / | head -n 3; echo abc | sed s/b/x/ | md5sum"
at_least busybox 100 ' f_'
