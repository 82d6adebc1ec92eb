# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What the tests i386_again_*.sh share, sourced behind lib.bash: other tests once more, with
# their fixtures built for 32 bits: the same functions, whose arguments are on the stack.

need_arch x86_64
[ -x "${UBP_BUILD:?}/fixtures32/hello" ] || skip "gcc cannot build for 32 bits (gcc-12-multilib)"
"$UBP_BUILD/fixtures32/exit_code" exit || skip "this kernel runs no 32-bit programs"
printf '#!/bin/sh\nexec python3 -I -S %s %s "$@"\n' "$UBP_SRC/tests/integ/lib/on_stack.py" "$UPROBE" > uprobe
chmod 755 uprobe

# again NAME...: these tests; I386_TESTS="NAME..." picks others. NAME:12 is one whose functions
# have a first argument of 64 bits: where the second one is. Each is run with fewer rounds than
# for 64 bits, where it may be; and in one mode, of every third one breakpoints, but with UBP_ALL=1.
again() {
	local bad=0 n=0 i=0 modes name second script run uprobe cxx='g++ -w -m32 -idirafter /usr/include/x86_64-linux-gnu'
	[ -z "${I386_TESTS:-}" ] || set -- $I386_TESTS
	for name; do
		case $name in *:*) second=${name#*:} name=${name%:*} ;; *) second= ;; esac
		# Most of those in Python have no arguments to translate, and count the calls of uprobe alone.
		script=${0%/*}/$name.sh run=bash uprobe=$PWD/uprobe
		[ -e "$script" ] || script=${0%/*}/$name.py run=python3
		case $script in *let_go*) ;; *.py) uprobe=$UPROBE ;; esac
		modes=${UBP_MODES:-auto}
		[ $((i++ % 3)) != 2 ] || modes=${UBP_MODES:-trap}
		! long || modes=${UBP_MODES:-}
		mkdir "$name" || fail "mkdir"
		SECONDS=0
		(cd "$name" && SECOND=$second UPROBE=$uprobe FIXTURES=$UBP_BUILD/fixtures32 FIX_CXX=$cxx \
			UBP_SLOWER=${UBP_SLOWER:-3} UBP_MODES=$modes timeout 300 $run "$script" > log 2>&1)
		case $? in
		0) n=$((n + 1)); echo "$name: $SECONDS s" ;;
		77) echo "$name skipped: $(tail -n 1 "$name/log")" ;;
		*) bad=$((bad + 1)); echo "--- $name"; tail -n 25 "$name/log" ;;
		esac
	done
	[ $bad = 0 ] && [ $n != 0 ] || fail "$bad tests, $n passed"
}
