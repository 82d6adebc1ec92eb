# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A recorder as rr is one, which follows its child through each call, signal, birth and exec, steps it and has it make calls, sees the same under
# uprobe, traced or let go of, with its children or without, and where uprobe comes later.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/recorder
"$F" > want.txt || fail "by itself: $?: $(cat want.txt)"
probes=(-e "p:r/work $F:work i=$ARG1:s32" -e "r:r/back $F:work \$retval:s32" -e "p:r/wait libc:waitpid")

same_as() { # same_as WHAT STATUS FILE
	[ "$2" = 0 ] || fail "$1: ended with $2: $(cat "$3" err.txt)"
	diff want.txt <(grep -vx ready "$3") || fail "$1: it has seen something else: $(cat err.txt)"
}

for follow in --follow --no-follow; do
	for how in '--mode auto' '--mode jump' '--mode jump --stay' '--mode trap'; do
		# shellcheck disable=SC2086
		"$UPROBE" $follow $how --stats -o ev.txt "${probes[@]}" -- "$F" > told.txt 2> err.txt < /dev/null
		same_as "$follow $how" $? told.txt
		[ "$(count ' work: .* i=1$' ev.txt)" = 2 ] && [ "$(count ' back: .*=2$' ev.txt)" = 2 ] ||
			fail "$follow $how: the recorder itself is not recorded: $(cat ev.txt err.txt)"
		[ "$(count ' work: .* i=[234]$' ev.txt)" = 0 ] || fail "$follow $how: its children are traced by two: $(cat ev.txt)"
	done
done

# It is there before, and let go of when it begins, or traced.
for how in '' --follow --stay; do
	mkfifo line
	"$F" wait < line > told.txt 2> said.txt &
	recorder=$!
	exec 9> line
	wait_for told.txt '^ready$'
	# shellcheck disable=SC2086
	trace -p $recorder $how --mode jump "${probes[@]}"
	[ "$how" = --stay ] || [ -n "${UBP_STAY:-}" ] || eventually grep -q "^TracerPid:.*[[:space:]]0$" "/proc/$recorder/status"
	echo go >&9
	exec 9>&-
	wait $recorder
	same_as "-p $how" $? told.txt
	trace_done
	[ "$(count ' work: .* i=1$')" = 2 ] || fail "-p $how: $(cat out.txt err.txt)"
	rm line
done
