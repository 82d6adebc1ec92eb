# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Static probes that cannot be traced: one message, the caret under the mistake.
. "${0%/*}/lib.bash"
use_usdt
F=$FIXTURES/usdt

# wrong MESSAGE COLUMN DEFINITION: the caret stands under that column of the definition.
wrong() {
	refused "^usdt: error: $1" --check "$3"
	[ "$(sed -n 2p err.txt)" = "  $3" ] || fail "$3: it is not shown: $(cat err.txt)"
	[ "$(sed -n 3p err.txt)" = "$(printf "  %*s^" "$2" '')" ] || fail "$3: the caret is elsewhere: $(cat err.txt)"
}
P=$F:sema:guarded
wrong 'a static probe is \[TARGET:\]PROVIDER:NAME$' 0 guarded
wrong 'a static probe is' 8 guarded:
wrong 'a static probe is' 2 'x::y'
wrong "no target before the ':'" 0 ':sema:guarded'
wrong 'static probes have no return$' 0 "r:$P"
wrong 'static probes have no return$' $((${#F} + 6)) "$P%return"
wrong "no static probe 'sema:guard' in $F; did you mean 'sema:guarded'" $((${#F} + 1)) "$F:sema:guard"
wrong "no static probe 'sema:g\[' in " $((${#F} + 1)) "$F:sema:g["
wrong "no static probe 'a:b' in $FIXTURES/hello: it has none at all" $((${#FIXTURES} + 7)) "$FIXTURES/hello:a:b"
wrong "no program or library 'no-such-program'" 0 no-such-program:a:b
wrong "/etc/passwd: a text, not an ELF file" 0 /etc/passwd:a:b
wrong "/: a directory, not an ELF file" 0 /:a:b
wrong "no static probe 'no_such_provider:x' in a program or library called no_such_provider, nor in those that run now" 0 no_such_provider:x
wrong "no static probe 'no_such\*:x' in the programs that run now" 0 'no_such*:x'
wrong 'Event name must follow' 2 "p:1x $P"
wrong 'Event name is too long' 4 "p:g/$(printf 'x%.0s' {1..64}) $P"
wrong 'Group name is not specified' 2 "p:/x $P"
wrong 'Group name must follow' 2 "p:1/x $P"
n=$((${#P} + 1)) # column of the first argument
wrong 'sema:guarded has only 2 arguments' $n "$P arg3"
wrong 'sema:guarded has only 2 arguments' $n "$P arg0"
wrong 'sema:guarded has only 2 arguments' $((n + 2)) "$P x=arg99999999999"
wrong "'arg' is no argument of a static probe" $n "$P arg"
wrong "'arg1x' is no argument" $((n + 3)) "$P +8(arg1x)"
wrong 'arg1 is no pointer: s32$' $n "$P arg1:string"
wrong 'arg1 is no pointer: s32$' $((n + 8)) "$P arg2 +8(arg1):u32"
wrong 'arg1 has 4 bytes, not 8$' $((n + 5)) "$P arg1:u64"
wrong 'Dereference brace is not closed' $((n + 7)) "$P +8(arg2:u32"
wrong 'the argument ends here' $((n + 8)) "$P +8(arg2)):u32"
wrong 'Dereference needs a brace' $n "$P +8arg2):u32"
wrong 'Unknown type is specified' $n "$P arg2:u65"
wrong 'Unknown type is specified' $((n + 4)) "$P %ax:u65"
wrong 'Invalid register name' $((n + 7)) "$P arg1 x=%axx"
wrong 'This argument name is already used' $((n + 9)) "$P x=arg1 x=arg2"
refused 'no static probe' -p $$ --check sema:guarded
refused 'Field not found' --check "$P" 'arg3 == 1'
refused 'no process 4194303' -p 4194303 sema:guarded

# Nothing of it is planted when one is wrong.
start usdt
refused 'did you mean' -p "$PID" -e "$P" -e sema:fa
go
read -r -t "$TIMEOUT" line <&"$OUT_fix"
[ "$line" = "guarded=0 far=0" ] || fail "$line"
exec {IN_fix}>&-
finish
