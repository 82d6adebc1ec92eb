# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The first process of a pid namespace, which the kernel spares while it is traced, ends by its own
# faults as it does without a tracer; what does not end it then does not end it now.
. "${0%/*}/lib.bash"
unshare -pf true 2> /dev/null || unshare -rpf true 2> /dev/null || skip "no pid namespaces here"
in_modes auto trap

F=$FIXTURES/init_dies
for how in segv blocked bus fpe ill int3 sys abort handler trap; do
	for threads in 0 2; do
		start init_dies $how $threads
		go
		finish
		want=$LAST
		rm -f -- fix.*

		start init_dies $how $threads
		trace --stay -p "$WORD" -e "p:i/load $F:load p=$ARG1" -e "r:i/work $F:work" --filter 'common_pid == 0'
		go
		finish
		[ "$LAST" = "$want" ] || fail "$how, $threads threads: '$LAST', untraced '$want'"
		trace_done
		[ "$(grep -c 'is let go' err.txt)" = "$([[ $want == signal* ]] && echo 1 || echo 0)" ] ||
			fail "$how, $threads threads: $want, and it says '$(cat err.txt)'"
		[[ $how =~ segv|bus|handler|blocked ]] && n=2 || n=1
		expect_count $n ' load: '
		rm -f -- fix.*
	done
done
