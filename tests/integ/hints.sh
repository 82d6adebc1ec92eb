# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What a person's hand gets wrong is refused with the kernel's message, and with a hint that works.
. "${0%/*}/lib.bash"

need_arch x86_64
F=$FIXTURES/args_int

# hints WORD FETCHARG [MEANT]: the hint for it; with MEANT in its place the definition is accepted.
hints() {
	"$UPROBE" --check "p:$F:area $2" > out.txt 2> err.txt && fail "$2 is accepted"
	grep -qF "hint: $1" err.txt || fail "$2: $(cat err.txt)"
	[ "$(wc -l < err.txt)" = 4 ] || fail "$2: not four lines: $(cat err.txt)"
	[ -z "${3-}" ] || "$UPROBE" --check "p:$F:area $3" > /dev/null || fail "$3 is refused"
	# The kernel has none of it.
	"$UPROBE" --strict --check "p:h/h $F:0x100 $2" 2>&1 | grep -q hint: && fail "$2: a hint in strict grammar"
}
hints 'did you mean %di?' 'a=%rdi' 'a=%di'
hints 'did you mean %ax?' 'a=%eax' 'a=%ax'
hints 'did you mean %r8?' 'a=%r8d' 'a=%r8'
hints 'registers are: %ax %bx' 'a=%accumulator'
hints '+0(%di):string is the text' 'a=%di:string' 'a=+0(%di):string'
hints 'did you mean string?' 'a=+0(%di):strng' 'a=+0(%di):string'
hints 'did you mean u32?' 'a=%di:u23' 'a=%di:u32'
hints 'types are: u8 u16' 'a=%di:integer'
hints 'did you mean $stack?' 'a=$stak' 'a=$stack'
hints 'r: in place of p:' 'a=$retval'
hints 'where it is entered, %si is that value' 'a=entry(%si)' 'a=%si'
hints 'where it is entered, %di is that value' 'a=entry(arg1)' 'a=arg1'
hints '+0(%di):hex[4] is what %di points to' 'a=%di:hex[4]' 'a=+0(%di):hex[4]'
hints 'n=%dx a=+0(%si):string[n], if' 'a=+0(%si):string[n]' 'n=%dx a=+0(%si):string[n]'
hints 'n=%dx a=arg2:hex[n], if' 'a=arg2:hex[n]' 'n=%dx a=arg2:hex[n]'
hints 'put n=%dx before it' 'a=+0(%si):string[n] n=%dx' 'n=%dx a=+0(%si):string[n]'
"$UPROBE" --check "r:$F:area a=\$retval" > /dev/null || fail "r: is refused"

# strace's way to follow children.
"$UPROBE" -p $$ -f "p:$F:area" > out.txt 2> err.txt && fail "-f takes a definition"
grep -q '^uprobe: error: .*--follow traces children, too' err.txt && [ "$(wc -l < err.txt)" = 1 ] || fail "-p -f: $(cat err.txt)"

# option WRITTEN HINT MEANT: options in one word each, blanks cut them.
option() {
	# shellcheck disable=SC2086
	"$UPROBE" --check $1 "p:$F:area a=%di" > out.txt 2> err.txt && fail "$1 is accepted"
	grep -qF -- "$2" err.txt || fail "$1: $(cat err.txt)"
	# shellcheck disable=SC2086
	"$UPROBE" --check $3 "p:$F:area a=%di" > /dev/null || fail "$3 is refused"
}
option --jsno "did you mean '--json'?" --json
option --cuont "did you mean '--count'?" --count
option "--followw -p $$" "did you mean '--follow'?" "--follow -p $$"
option -json "unknown option '-json'; did you mean '--json'?" --json
option -jsno "did you mean '--json'?" --json
option '-delay 5' "hint: did you mean '--delay'?" ''
option '--interval 1' '--every=SECS prints' '--count --every=1'
option --profile '--count=ustack counts hits by stack' --count=ustack
option --summary '--count counts hits' --count
option -c '--count counts hits' --count
option --ustack '-s prints the user stack' -s
option --comm=bash "the filter 'comm == \"NAME\"'" ''
"$UPROBE" --check "p:$F:area a=%di" 'comm == "bash"' > /dev/null || fail "a filter by comm is refused"

# filter HINT FILTER MEANT
filter() {
	"$UPROBE" --check -e "p:$F:area n=%di name=+0(%si):string" --filter "$2" > out.txt 2> err.txt && fail "$2 is accepted"
	grep -qF "hint: $1" err.txt || fail "$2: $(cat err.txt)"
	"$UPROBE" --check -e "p:$F:area n=%di name=+0(%si):string" --filter "$3" > /dev/null || fail "$3 is refused"
}
filter '== is equal' 'n = 3' 'n == 3'
filter '== is equal' 'n is 3' 'n == 3'
filter '~ is followed by a pattern' 'name =~ "x*"' 'name ~ "x*"'
filter '&& is and' 'n > 3 and n < 5' 'n > 3 && n < 5'
filter 'units are ns us ms' 'n > 5xs' 'n > 5ms'
filter 'a unit stands right behind' 'n > 50 ms' 'n > 50ms'
filter 'a unit stands right behind' 'n > 50 KiB && n < 9' 'n > 50KiB && n < 9'
filter '|| is or' 'n > 3 or n < 5' 'n > 3 || n < 5'
filter 'did you mean name?' 'nam == "x"' 'name == "x"'
filter 'fields are: n name comm' 'nothing_like_it == 1' 'common_pid == 1'

# What the kernel takes for all of $retval is said to be that.
"$UPROBE" --check "r:$FIXTURES/hello:greet \$retval->len ok=+0(\$retval):u8 \$retval:s32" > out.txt 2> err.txt || fail "\$retval->len: ended with $?"
[ "$(cat err.txt)" = "uprobe: warning: greet: '\$retval->len' is all of \$retval: '->len' says nothing" ] || fail "\$retval->len: $(cat err.txt)"
