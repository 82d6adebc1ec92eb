# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where indirect branches must find landing pads (BTI) none of those becomes a jump, and the reason
# is told; what is behind one does: a probe of a function, too, unless another one stands there, or it is a
# return probe and the pad has signed the return address. The program, whose calls are indirect, is right,
# and so are the counts.
. "${0%/*}/lib.bash"
need_arch aarch64

F=$FIXTURES/bti
pads=(-e "p:b/leaf $F:leaf i=$ARG1:s64" -e "r:b/leaf_ret $F:leaf v=\$retval:s64" -e "p:b/outer $F:outer" \
	-e "r:b/outer_ret $F:outer v=\$retval:s64")
behind=(-e "p:b/behind $F:leaf+4 i=$ARG1:s64" -e "p:b/signed $F:outer+4 i=$ARG1:s64")
"$UPROBE" --explain "${pads[@]}" "${behind[@]}" > explain.txt 2> err.txt || fail "--explain: $(cat err.txt)"
[ "$(grep -c 'not a jump: it is a landing pad, and its file asks for those (BTI)' explain.txt)" = 4 ] ||
	fail "$(cat explain.txt)"
[ "$(grep -cE '^b/(behind|signed) .*: jump \(' explain.txt)" = 2 ] || fail "$(cat explain.txt)"

N=$(scaled 300)
stat() { sed -nE "s/.* stats: .* b\/$1 .*\b$2=([0-9]+).*/\1/p" err.txt; }
for mode in auto jump trap step; do
	start bti $N
	guarded=$WORD
	trace --stats --lossless --mode $mode -p "$PID" "${pads[@]}" "${behind[@]}"
	go
	finish
	trace_done
	for e in leaf leaf_ret behind; do expect_count $((3 * N)) " $e: "; done
	for e in outer outer_ret signed; do expect_count $N " $e: "; done
	expect_count $N ' outer_ret: .* v=[0-9]*[13579]$'
	for e in leaf leaf_ret outer outer_ret; do
		[ "$(stat $e jumps)" = 0 ] || fail "--mode $mode: $e is a jump"
	done
	case $mode in
	auto|jump)
		for e in behind signed; do
			[ "$(stat $e jumps)" = 1 ] || fail "--mode $mode: $e is no jump: $(cat err.txt)"
		done ;;
	esac
done
# The others gone, those of functions stand behind the pads.
start bti $N
trace --stats --lossless -p "$PID" "${pads[@]:0:6}"
go
finish
trace_done
for e in leaf leaf_ret; do expect_count $((3 * N)) " $e: "; done
expect_count $N " outer: "
for e in leaf leaf_ret outer; do
	[ "$(stat $e jumps),$(stat $e behind)" = 1,1 ] || fail "$e is no jump behind its pad: $(cat err.txt)"
done
[ "$guarded" = bti ] || skip "this machine does not mind missing landing pads"
