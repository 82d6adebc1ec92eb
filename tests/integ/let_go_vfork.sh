# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A shell that makes a process (dash: by vfork()) just when it is let go of: its children are followed all the same. A thread that was stopped between the
# bell in front of that call and the call has to be seen to have made it.
. "${0%/*}/lib.bash"
need_arch x86_64
have dash

def="p:b/work $FIXTURES/exit_code:work n=$ARG1:s32"
# Some of it while it is being let go of, some later.
run="for i in 1 2 3; do $FIXTURES/launch $FIXTURES/exit_code exit 0; sleep 0.02; done; true"
seen=0 let_go=0
for ((i = 0; i < 12; i++)); do
	timeout "$TIMEOUT" "$UPROBE" --stats -o out.txt -e "$def" -- dash -c "$run" 2> err.txt || fail "ended with $?"
	# What rang for the tracer and could not wait any longer on a busy machine was told of.
	grep -q "could not be traced again in time" err.txt && continue
	expect_count 3 ' work: '
	seen=$((seen + 1))
	let_go=$((let_go + $(last_stat let_go)))
done
[ $seen -gt 0 ] || fail "not one round was traced in time"
[ -n "${UBP_STAY:-}" ] || [ $let_go -gt 0 ] || fail "nobody was let go of: nothing is shown by this"
