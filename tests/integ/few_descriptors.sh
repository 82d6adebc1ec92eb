# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Too few descriptors: that is what is told, and not that a program, a library or a
# process is not there. With some more of them all is traced.
. "${0%/*}/lib.bash"

NAME=busy start busy 1
text_of "$PID_busy" "$FIXTURES/busy" before

# few N ARG...: with N descriptors it works, or says what it is short of.
few() {
	local n=$1 rc
	shift
	timeout "$TIMEOUT" prlimit --nofile="$n" "$UPROBE" "$@" > out.txt 2> err.txt < /dev/null
	rc=$?
	if [ $rc = 0 ]; then
		n_good=$((n_good + 1))
		return
	fi
	n_short=$((n_short + 1))
	# With even fewer the loader cannot load it.
	grep -qE 'Too many open files|no more process or descriptor can be had|loading shared libraries' err.txt ||
		fail "uprobe $*: with $n descriptors, status $rc, does not tell the cause"
	! grep -qE 'no program|no process|No such' err.txt || fail "uprobe $*: with $n descriptors, a false cause"
}

n_good=0 n_short=0
for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 40; do
	few $n -l libc
	few $n -l "$(dirname "$FIXTURES/busy")/bus[y]"
	few $n --check p:libc:fopen
	few $n --check p:bash:main
	few $n -p "$PID_busy" --check p:libc:fopen
	few $n -p "$PID_busy" -d 1 p:libc:fopen
	few $n -p "$PID_busy" -d 1 'p:busy:ste*'
	few $n -d 1 "p:$FIXTURES/busy:step" -- true
done
# None is let go of that could not be traced again, and taken out is what was planted: at each number in between, or each second one.
for n in $(seq 13 "$(long && echo 1 || echo 2)" 32); do
	few $n -p "$PID_busy" -d 0.2 'p:busy:ste*'
done
[ $n_good -ge 10 ] || fail "only $n_good of all worked"
[ $n_short -ge 10 ] || fail "only $n_short of all were short of descriptors"

text_of "$PID_busy" "$FIXTURES/busy" after
cmp before after || fail "its code is not what it was"
untraced "$PID_busy"
go busy
finish busy
