# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions of a C library that run in a posix_spawn() child before its exec, where
# no breakpoint can be guarded: refused, by whatever name, and planted with --force.
. "${0%/*}/lib.bash"

libc=$(ldd /bin/sh | awk '$1 == "libc.so.6" { print $3 }')
[ -f "$libc" ] || skip "/bin/sh has no libc.so.6"
why='children of posix_spawn\(\).*--force'
for f in dup2 __dup2 fcntl fcntl64 execve sigprocmask pthread_sigmask chdir getenv __close_nocancel \
	__libc_sigaction; do
	nm -D --defined-only "$libc" | grep -q " $f@" || continue
	refused "$why" --check "p:$libc:$f"
	"$UPROBE" --force --check "p:$libc:$f" > /dev/null || fail "$f: --force does not help"
done
refused "$why" --check "r:$libc:dup2"
offset=$("$UPROBE" --force --check "p:$libc:dup2" | sed 's/.*://')
refused "$why" -e "p:s/x $libc:$offset"
# Chosen at load time, no alias of anything.
refused "$why" --check "p:$libc:strchrnul"
# What does not run there is as free as ever; so is a program that only imports it.
for f in open fopen malloc waitpid posix_spawn close system; do
	"$UPROBE" --check "p:$libc:$f" > /dev/null || fail "$f is refused"
done
F=$FIXTURES/fork_exec
"$UPROBE" --check "p:$F:work" > /dev/null || fail "work is refused"

# Such children, with probes on all that runs in them: none is harmed.
for mode in spawn system; do
	echo go | "$UPROBE" --force -o out.txt -e "p:s/dup2 $libc:dup2" -e "p:s/mask $libc:sigprocmask" \
		-e "p:s/act $libc:__libc_sigaction" -e "p:s/exec $libc:execve" -e "p:f/work $F:work who=%di:s32" \
		-- "$F" $mode > stdout.txt 2> err.txt || fail "$mode: status $?: $(cat err.txt)"
	[ "$(count ' exec: ')" -ge 1 ] || fail "$mode: no hit in the child"
	[ "$(count 'who=3$')" -ge 1 ] || fail "$mode: no hit in the new image"
done

musl=/lib/x86_64-linux-musl/libc.so
[ -f $musl ] || skip "the rest needs musl"
for f in close execve getenv; do refused "$why" --check "p:$musl:$f"; done
"$UPROBE" --check "p:$musl:dup2" > /dev/null || fail "musl: dup2 does not run there"
