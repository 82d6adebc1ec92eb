# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# -- COMMAND: traced from its first instruction, its input and output untouched,
# its status ours.
. "${0%/*}/lib.bash"

F=$FIXTURES/exit_code
run() { # run STATUS ARG...: exit_code ARG... under uprobe
	local want=$1 rc
	shift
	echo "some input" | "$UPROBE" -o out.txt -e "p:c/main $F:main argc=$ARG1:s32" \
		-e "r:c/work $F:work \$retval:s32" -- "$F" "$@" > stdout.txt 2> err.txt
	rc=$?
	[ $rc = "$want" ] || fail "exit_code $*: status $rc, not $want"
	expect_count 1 ' main: \(0x[0-9a-f]+\) argc='
	expect_count 1 ' work: '
}
for n in 0 1 3 77 255; do run $n exit $n; done
for s in 1 2 9 11 15; do run $((128 + s)) kill $s; done
run 134 abort
run 0 echo
[ "$(cat stdout.txt)" = "some input" ] || fail "output is '$(cat stdout.txt)'"

# Without -o the trace goes to stdout beside the command's own, nothing else.
"$UPROBE" -e "p:c/work $F:work" -- "$F" exit 4 > out.txt 2> err.txt
[ $? = 4 ] || fail "status without -o"
[ "$(wc -l < out.txt)" = 1 ] && expect_count 1 ' work: '

refused 'no_such_program' -e "p:c/work $F:work" -- ./no_such_program
refused 'ermission denied|annot execute|not executable' -e "p:c/work $F:work" -- /etc/passwd
