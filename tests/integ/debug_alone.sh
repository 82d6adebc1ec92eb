# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Debug information in files of its own, named as targets or missing: a file of it alone (objcopy --only-keep-debug) is listed as its program is, and is
# nothing to probe; of a split unit (-gsplit-dwarf) whose file is not there it is told which that is.
. "${0%/*}/lib.bash"
have gcc
have objcopy

cat > app.c <<'END'
#include <stdio.h>
struct request { int len; };
__attribute__((noinline)) int parse(struct request *req, int flags)
{
	int n = req->len + flags;
	return printf("%d\n", n);
}
int main(void)
{
	struct request req = { 3 };
	return parse(&req, 4) < 0;
}
END
gcc -g -O1 -o app app.c || fail "gcc"
objcopy --only-keep-debug app app.debug || fail "objcopy"
objcopy --strip-all app stripped
for what in "-l TARGET p*" "--vars parse TARGET" "--lines-of parse TARGET"; do
	"$UPROBE" ${what/TARGET/./app} > want.txt || fail "$what of the program"
	[ -s want.txt ] || fail "$what prints nothing"
	"$UPROBE" ${what/TARGET/./app.debug} > out.txt 2> err.txt || fail "$what of a file of debug information: $(cat err.txt)"
	diff want.txt out.txt || fail "$what of a file of debug information"
done
refused "app.debug has a program's debug information alone: name the program, and this file by --symbols" p:./app.debug:parse -- ./app
"$UPROBE" --symbols ./app.debug 'p:./stripped:parse len=req->len:s32' -- ./stripped > out.txt 2> err.txt || fail "--symbols: $(cat err.txt)"
grep -q ' parse: (0x[0-9a-f]*) len=3$' out.txt || fail "no event: $(cat out.txt)"

gcc -g -gsplit-dwarf -O1 -c app.c && gcc -o split app.o && [ -s app.dwo ] || skip "this gcc splits nothing"
"$UPROBE" --vars parse ./split > out.txt || fail "--vars of split debug information"
grep -q 'struct request' out.txt || fail "no variables: $(cat out.txt)"
rm app.dwo
refused "no function 'parse' in the debug information of ./split, a part of which is in app.dwo, which is not there" --vars parse ./split
