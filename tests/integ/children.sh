# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Children by every call that makes one, and images by exec: all are traced when
# nothing else was asked for, none is harmed, all probes are in the new image.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/fork_exec
check() { # check MODE WHO=COUNT...
	local mode=$1 pair
	shift
	for pair; do
		[ "$(count "who=${pair%=*}$")" = "${pair#*=}" ] ||
			fail "$mode: $(count "who=${pair%=*}$") hits with who=${pair%=*}, not ${pair#*=}"
	done
	[ "$(count ' work: ')" = "$(count ' work_ret: ')" ] || fail "$mode: returns are missing"
}
both() { # both MODE WHO=COUNT...: attached, and as a command
	local mode=$1
	local defs=(-e "p:f/work $F:work who=$ARG1:s32" -e "r:f/work_ret $F:work \$retval:s32")
	start fork_exec "$mode"
	trace "${defs[@]}"
	go
	finish
	trace_stop
	check "$@"
	echo go | "$UPROBE" -o out.txt "${defs[@]}" -- "$F" "$mode" > stdout.txt 2> err.txt ||
		fail "$mode as a command: status $?"
	check "$@"
}
both fork 1=5 2=5
both grandchild 2=1 4=1
both vfork 1=5 2=5
both clone_vm 1=5 2=5
both spawn 1=5 3=5
both system 1=2 3=1
both exec 1=2 2=1 3=2

# Whose hit is it? The parent's are who=1, each child has one of its own.
whose() { # whose WHO: threads with such events
	sed -nE "s/^ *.{1,16}-([0-9]+) +\[.* who=$1\$/\1/p" out.txt | sort -u
}
for mode in fork vfork clone_vm; do
	echo go | "$UPROBE" -o out.txt -e "p:f/work $F:work who=$ARG1:s32" -- "$F" $mode > stdout.txt 2> err.txt ||
		fail "$mode, entries alone: status $?"
	[ "$(whose 1 | wc -l)" = 1 ] && [ "$(whose 2 | wc -l)" = 5 ] &&
		[ -z "$(comm -12 <(whose 1) <(whose 2))" ] || fail "$mode: hits are told as others'"
done

# Tracing ends while they are being born: they end well all the same.
start fork_exec loop
go
for ((i = $(often 30); i > 0; i--)); do
	trace -n 20 -e "p:f/work $F:work who=$ARG1:s32" -e "r:f/ret $F:work"
	trace_done
	alive
done
go
finish
