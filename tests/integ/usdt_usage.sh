# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# usdt's command line: what makes no sense, help, the manual; what each way of printing prints.
. "${0%/*}/lib.bash"
use_usdt

usage 'no definition is given'
usage "unknown option '-x'" -x
usage "unknown option '--strict'" --strict a:b
usage '-l and -L take a target, or -p PID' -l
usage '-l and -L take a target, or -p PID' -L
usage "'c' is one word too many (a definition with arguments is quoted as one word)" -l a b c
usage '-l and -L take a target, and perhaps a pattern, only' -L -e a:b
usage '-l takes a target, and perhaps a pattern, only' -L a -d 1
usage '-l takes one process' -l -p 1,2
usage "a thread id is a number, not 'x'" --tid x a:b
usage "-p takes process ids and names, not ''" -p '' a:b
usage 'a command excludes -p and -L' -p 1 a:b -- true
usage "no command after '--'" a:b --
usage 'a filter comes after the definition it is for' --filter 'a == 1' a:b
usage "'arg2:string' is no filter; arguments stand in the definition's quotes, a command behind '--'" a:b arg2:string
usage "'usdt:/usr/bin/php:php:error' is bpftrace's; here it is '/usr/bin/php:php:error'" usdt:/usr/bin/php:php:error

for opt in -h --help; do
	"$USDT" $opt > help.txt 2> err.txt || fail "$opt: exit status $?"
	[ ! -s err.txt ] || fail "$opt: something on standard error"
	grep -q '^Usage: usdt \[-FhHisv\] \[-d SECS\]' help.txt || fail "$opt: no usage"
done
[ "$(grep -c -- '--event' help.txt)" = 1 ] || fail "--event is not there once"
# What help tells is in the manual, with an example.
for opt in $(grep -oE -- '--[a-z-]+' help.txt | sort -u); do
	sed 's/\\-/-/g' "$UBP_SRC/docs/man/usdt.1" | grep -q -- "$opt" || fail "the manual is silent about $opt"
done
"$USDT" --version | grep -q '^usdt [0-9]' || fail "--version"

F=$FIXTURES/usdt
[ "$("$USDT" -l "$F")" = $'sema:far\nsema:guarded' ] || fail "-l: $("$USDT" -l "$F")"
[ "$("$USDT" -l "$F" '*:g*')" = sema:guarded ] || fail "-l with a pattern"
[ "$("$USDT" -l "$F" far)" = sema:far ] || fail "-l with the name alone"
[ "$("$USDT" -l --exclude far "$F")" = sema:guarded ] || fail "-l with --exclude by name alone"
for no in nosuch 'sema:x*'; do
	"$USDT" -l "$F" "$no" > out.txt 2> err.txt || fail "-l $no: $?"
	[ ! -s out.txt ] && grep -qF "usdt: no static probe '$no' in $F" err.txt || fail "-l $no: $(cat err.txt)"
done
"$USDT" -L "$UPROBE" > out.txt 2> err.txt || fail "-L of a program without: $?"
[ ! -s out.txt ] && grep -q "^usdt: no static probes in $UPROBE (those of its libraries are listed by -l -p PID)$" err.txt ||
	fail "-L of a program without: $(cat out.txt err.txt)"
[ "$("$USDT" -l --exclude '*:g*' "$F")" = sema:far ] || fail "-l with --exclude"
[ "$("$USDT" -l --explain "$F" '*:far')" = 'sema:far  jump' ] ||
	"$USDT" -l --explain "$F" '*:far' | grep -qE '^sema:far  (breakpoint: |jump \()' || fail "-l with --explain"
"$USDT" -L "$F" '*:g*' > out.txt || fail "-L: $?"
grep -qx "sema:guarded $F" out.txt && grep -qxE ' {4}location 0x0*[1-9a-f][0-9a-f]*, base 0x[0-9a-f]{16}, semaphore 0x0*[1-9a-f][0-9a-f]*' out.txt &&
	grep -qxE '    arguments (-4@%edi 8@%rsi|-4@[wx]0 8@x1)' out.txt && grep -qx "    arg1 s32 $ARG1" out.txt ||
	fail "-L: $(cat out.txt)"

# -F and -i are for scripts, and mean nothing.
"$USDT" -F -i --check "$F:sema:guarded" > plain.txt || fail "--check: $?"
grep -qxE "p:sema/guarded $F:0x[0-9a-f]{16}\(0x[0-9a-f]+\) arg1=$ARG1:s32 arg2=$ARG2:u64" plain.txt ||
	fail "--check: $(cat plain.txt)"
"$USDT" --definition "$F:sema:guarded" | cmp - plain.txt || fail "--definition is not --check's"
"$USDT" -v "$F:sema:guarded" > out.txt || fail "-v: $?"
grep -qP '^\tfield:s32 arg1;\toffset:16;\tsize:4;\tsigned:1;$' out.txt || fail "-v: $(cat out.txt)"

# Names, args of both kinds, and those that only the filter names. %di and %si in what is wanted
# are the registers of the first arguments.
check() { # check WANTED-EVENT-AND-ARGS DEFINITION [FILTER]
	local want=$1 got
	shift
	want=${want//%di/$ARG1}
	want=${want//%si/$ARG2}
	got=$("$USDT" --check "$@" | sed -E 's/ [^ ]*:0x[0-9a-f]+\(0x[0-9a-f]+\)//')
	[ "$got" = "$want" ] || fail "$*: '$got', not '$want'"
}
check 'p:sema/al arg1=%di:s32 arg2=%si:u64' "p:al $F:sema:guarded"
check 'p:g/al arg1=%di:s32 arg2=%si:u64' "p:g/al $F:sema:guarded"
check 'p:g/guarded arg1=%di:s32 arg2=%si:u64' "p:g/ $F:sema:guarded"
check 'p:sema/guarded arg1=%di:s32 arg2=%si:u64' "p: $F:sema:guarded"
check 'p:sema/guarded arg1=%di:s32 arg2=%si:u64' "p:$F:sema:guarded"
check $'p:sema/al_guarded arg1=%di:s32 arg2=%si:u64\np:sema/al_far arg1=%di:s64' "p:al  $F:sema:*"
[ "$("$USDT" --check --exclude '*:f*' "$F:sema:*" | wc -l)" = 1 ] || fail "--exclude of a pattern"
"$USDT" --check --exclude '*' "$F:sema:*" 2> err.txt && fail "--exclude of all"
grep -q "^usdt: error: all of 'sema:\*' are left out by --exclude\$" err.txt || fail "--exclude of all: $(cat err.txt)"
check 'p:sema/guarded arg2=+0(%si):string' "$F:sema:guarded arg2:string"
check 'p:sema/guarded arg2=+0(%si):u8[4] arg2_2=+1(%si):u8 arg1=%di:x16' "$F:sema:guarded arg2:u8[4] +1(arg2):u8 arg1:x16"
check 'p:sema/guarded s=+0(+8(%si)):string arg2=$comm arg3=%sp' "$F:sema:guarded s=+0(+8(arg2)):string \$comm %sp"
check 'p:sema/guarded arg2=+0(%si):string arg3=%sp' "$F:sema:guarded arg2:string %sp"
check 'p:sema/guarded arg2=+0(%si):string arg1=%di:s32' "$F:sema:guarded arg2:string" 'arg1 == 5 && arg2 != "arg1"'
