# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Helpers for tests of stacks; sourced behind lib.bash.

have setarch
setarch -R true 2> /dev/null || skip "addresses can't be kept from being random here"

# stacks_of [FILE]: the stacks in out.txt (or FILE) as lines of addresses, innermost first.
stacks_of() {
	awk '/<user stack trace>/ { if (seen++) print s; s = ""; next }
	     / => / { gsub(/[<>]/, "", $2); sub(/^0+/, "", $2); s = s (s == "" ? "" : " ") $2 }
	     END { if (seen) print s }' "${1:-out.txt}"
}

# What follows has $INPUT as its input, and gdb is run by $AS_USER.
# our_stacks N DEFINITION COMMAND...: of its first N hits, to ours.
our_stacks() {
	local n=$1 def=$2
	shift 2
	setarch -R "$UPROBE" --stack="${KIND:-cfi}" --stack-raw --lossless -n "$n" -o out.txt -e "$def" -- "$@" \
		> /dev/null 2> err.txt < "${INPUT:-/dev/null}" || [ -s out.txt ] || fail "$def: ended with $?"
	stacks_of > ours
	[ "$(wc -l < ours)" = "$n" ] || fail "$def: $(wc -l < ours) stacks, not $n"
}

# gdb_stacks N AT COMMAND...: what gdb says, to theirs. Where it goes on to what is no code it has
# missed the end.
gdb_stacks() {
	local n=$1 at=$2
	shift 2
	rm -f theirs.all
	N=$n AT=$at OUT=theirs.all timeout $((5 * TIMEOUT)) ${AS_USER:-} gdb -nx -batch -x "${0%/*}/lib/gdb_stacks.py" \
		--args "$@" > gdb.log 2>&1 < "${INPUT:-/dev/null}"
	[ -s theirs.all ] || { tail -n 5 gdb.log; skip "gdb cannot run $1 here"; }
	awk '{ s = ""
	       for (i = 1; i <= NF && length($i) > 5 && $i !~ /^7ffffff/ && $i != "100000000"; i++)
	               s = s (s == "" ? "" : " ") $i
	       print s }' theirs.all > theirs
}

# as_gdb N FILE:SYMBOL COMMAND...: the same stacks at the first N hits; once more by libunwind, unless
# WAYS is "cfi".
as_gdb() {
	local n=$1 what=$2
	shift 2
	our_stacks "$n" "p:g/x $what" "$@"
	gdb_stacks "$n" "${AT:-*${what##*:}}" "$@"
	diff ours theirs > diff.out || { cat diff.out; fail "$what: not the stacks of gdb"; }
	[ "${WAYS:-both}" = both ] || return 0
	KIND=unwind our_stacks "$n" "p:g/x $what" "$@"
	diff ours theirs > diff.out || { cat diff.out; fail "$what: by libunwind not the stacks of gdb"; }
}
