# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A Go program on a machine where there may be no compiler for it: one that was made elsewhere
# ($FIXTURES/go_static, by .ci/check-machine.sh) is traced from its start.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/go_static
if [ ! -x "$F" ]; then
	have go
	F=$PWD/prog
	GOCACHE=$UBP_BUILD/go-cache HOME=$PWD CGO_ENABLED=0 command go build -o "$F" "$UBP_SRC/fixtures/go_static.go" || fail "cannot build"
fi
"$UPROBE" --stats --lossless -o out.txt -e "p:g/add $F:main.add" -e "r:g/ret $F:main.add r=\$retval:s64" -- "$F" \
	> stdout.txt 2> err.txt || fail "ended with $?"
[ "$(cat stdout.txt)" = 99000 ] || fail "it says '$(cat stdout.txt)'"
expect_count 2000 ' add: '
expect_count 2000 ' ret: '
grep -q ' at_rets=[1-9]' err.txt || fail "not at ret instructions"
