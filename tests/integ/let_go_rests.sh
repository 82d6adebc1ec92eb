# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Threads that have made calls for us at a probe, and wait in its function from then on: nothing on their stacks looks as if they were in
# its detour still, so nobody has to trace the process. Whether such a call is made is up to chance, so there are several rounds.
. "${0%/*}/lib.bash"
need_arch x86_64

hits() { [ -e out.txt ] && [ "$(count ' rests: ')" = 4 ]; }

for ((i = 0; i < 12; i++)); do
	rm -f out.txt said.txt
	mkfifo in || fail "mkfifo"
	"$UPROBE" --stats -o out.txt "p:$FIXTURES/rests:rests" -- "$FIXTURES/rests" 4 < in > said.txt 2> err.txt &
	UBP_PID=$!
	exec {fd}> in
	rm in
	echo go >&$fd # at once: before it is let go of
	eventually hits
	[ -n "${UBP_STAY:-}" ] || eventually is_let_go "$(sed -n 's/^ready //p' said.txt)"
	echo go >&$fd
	exec {fd}>&-
	trace_done
	[ "$(tail -n 1 said.txt)" = "all right" ] || fail "it says '$(tail -n 1 said.txt)'"
	[ -n "${UBP_STAY:-}" ] || grep -q 'let_go=[1-9]' err.txt || fail "it was not let go of: $(cat err.txt)"
done
