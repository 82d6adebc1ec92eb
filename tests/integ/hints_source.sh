# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What other tools' hands write, where variables are known and where they are not: each answer says what to type, and that is accepted.
. "${0%/*}/lib.bash"
need_arch x86_64
have gcc

cat > shop.c << 'END'
#include <stdlib.h>
enum color { RED, GREEN, BLUE };
struct order { int id; const char *item; };
__attribute__((noinline)) int place(struct order *order, int qty, enum color c)
{
	free(malloc(order->id));
	return qty + c;
}
int main(void)
{
	struct order order = { 1, "x" };

	return place(&order, 2, BLUE);
}
END
gcc -g -O1 -o shop shop.c || fail gcc
gcc -g -O0 -o shop0 shop.c || fail gcc
cp shop bare && strip -g bare

# said TEXT WORD...: what standard error has where these words are refused.
said() {
	local text=$1
	shift
	"$UPROBE" --check "$@" > out.txt 2> err.txt && fail "$* is accepted"
	grep -qF -- "$text" err.txt || fail "$*: $(cat err.txt)"
}
accepted() { "$UPROBE" --check "$@" > /dev/null || fail "$* is refused"; }
# arg HINT KIND WRITTEN MEANT: of a function with variables, and of one without.
arg() {
	for program in shop bare; do
		said "hint: $1" "$2:./$program:place $3"
		accepted "${5-$2}:./$program:place $4"
	done
}

# --- arguments
arg 'the first argument is arg1' p arg0 arg1
arg 'the first argument is arg1' p '$arg0' arg1
arg 'arg1:string is that text' p 'str(arg1)' arg1:string
arg 's=arg1:string is the text of the first argument' p 's=str(arg0)' s=arg1:string
arg '$retval is what the function returned, of r: in' p retval '$retval' r
arg '$retval is what the function returned' r retval '$retval'
arg '$retval:s32 is what the function returned' r retval:s32 '$retval:s32'
arg 's=+0($retval):string is what' r s=retval:string 's=+0($retval):string'
arg 'did you mean s32?' p arg1:int arg1:s32
arg 'did you mean string?' p 'arg1:char*' arg1:string
arg 'did you mean s64?' p arg1:long arg1:s64
arg 'entry(arg1) is what it was' r k=arg1 'k=entry(arg1)'
arg 'entry(arg1) is what it was' r '$arg1' 'entry(arg1)'
arg '+0(entry(arg1)):string is what it was' r k=arg1:string 'k=+0(entry(arg1)):string'
arg '+8(entry(arg1)):s32 is what it was' r '+8(arg1):s32' '+8(entry(arg1)):s32'
arg '+0($retval):string is the text' r '$retval:string' '+0($retval):string'
arg '+0(entry(%di)):string is the text' r 'entry(arg1):string' '+0(entry(%di)):string'
said 'hint: did you mean s32?' 'p:./shop:place qty:int'
said 'hint: did you mean string?' 'p:./shop:place order->item:char*'
accepted 'p:./shop:place order->item:string'
said 'hint: qty=entry(%si):s32 is what it was' 'r:./shop:place qty'
said 'hint: k=entry(%si):s32 is what it was' 'r:./shop:place k=qty'
accepted 'r:./shop:place k=entry(%si):s32'
said 'hint: item=+0(entry(+8(%di))):string is what' 'r:./shop:place order->item:string'
accepted 'r:./shop:place item=+0(entry(+8(%di))):string'
said 'hint: entry(arg1) is the first argument' 'r:./shop0:place qty'
said 'hint: entry(arg1) is the first argument' 'r:./bare:place qty'
said 'hint: without it arg1 is the first argument' 'p:./bare:place qty'

# --- filters
# field MEANT DEFINITION FILTER
field() {
	said "hint: add it to the definition: '$1'" "$2" "$3"
	accepted "$1" "$3"
	said "hint: add it to the definition: '$1'" -e "$2" --filter "$3"
	accepted -e "$1" --filter "$3"
}
field 'p:./shop:place qty' p:./shop:place 'qty > 2'
field 'p:./shop:place c qty' 'p:./shop:place c' 'c == RED && qty > 2'
field 'p:./bare:place arg2' p:./bare:place 'arg2 > 2'
field 'r:./bare:place $duration' r:./bare:place 'duration > 2ms'
field 'r:./bare:place retval=$retval' r:./bare:place 'retval > 2'
said 'hint: add it to the definition: qty=entry(%si):s32 is' r:./shop:place 'qty > 2'
said 'hint: fields are: comm' p:./shop:place 'nothing_like_it > 2'
D='p:./shop:place qty c'
said 'hint: common_pid is the thread' "$D" 'pid == 2'
said 'hint: common_pid is the thread' "$D" 'tid == 2'
said 'hint: did you mean comm?' "$D" 'name == "bash"'
said 'hint: >= is' "$D" 'qty => 2'
said 'hint: <= is' "$D" 'qty =< 2'
said 'hint: did you mean BLUE? Values are: RED GREEN BLUE' "$D" 'c == BLEU'
said 'hint: values are: RED GREEN BLUE' "$D" 'c == PURPLE'
said "hint: no slashes stand around a filter: 'qty > 2'" "$D" '/qty > 2/'
for filter in 'common_pid == 2' 'comm == "bash"' 'qty >= 2' 'qty <= 2' 'c == BLUE' 'qty > 2' 'qty > 2ms'; do
	accepted "$D" "$filter"
done
# The kernel's grammar has the kernel's answers alone.
for filter in 'pid == 2' 'n => 2' '/n > 2/' 'n = 2'; do
	"$UPROBE" --strict --check -e "p:a/b ./shop:0x$(nm shop | sed -n 's/^0*\([0-9a-f]*\) T place$/\1/p') n=%di" \
		--filter "$filter" > out.txt 2> err.txt && fail "$filter is accepted in strict grammar"
	! grep -q 'hint:' err.txt || fail "$filter: a hint in strict grammar: $(cat err.txt)"
done

# --- counting
# counted HINT OPTION DEFINITION OPTION MEANT
counted() {
	said "hint: $1" "$2" "$3"
	accepted "$4" "$5"
}
counted "give it one: 'p:./bare:place arg1'" --count=arg1 p:./bare:place --count=arg1 'p:./bare:place arg1'
counted "give it one: 'p:./bare:place arg1'" --hist p:./bare:place --hist 'p:./bare:place arg1'
counted "give it one: 'p:./bare:place arg1 arg2'" --sum=arg2 'p:./bare:place arg1' --sum=arg2 'p:./bare:place arg1 arg2'
counted "give it one: 'r:./bare:place \$duration'" '--hist=$duration' r:./bare:place '--hist=$duration' 'r:./bare:place $duration'
counted "give it one: 'r:./bare:place \$duration'" '--sum=$duration' r:./bare:place '--sum=$duration' 'r:./bare:place $duration'
counted "give it one: 'r:./bare:place \$duration'" --hist r:./bare:place --hist 'r:./bare:place $duration'
counted "give it one: 'r:./bare:place arg2=entry(arg2)'" --count=arg2 r:./bare:place --count=arg2 'r:./bare:place arg2=entry(arg2)'
counted 'did you mean comm? Keys are arguments, comm, pid' --count=cmm p:./bare:place --count=comm p:./bare:place
counted 'did you mean qty?' --sum=qtty 'p:./shop:place qty' --sum=qty 'p:./shop:place qty'
said 'hint: keys are arguments of the definition, comm, pid' --count=nothing_like_it p:./bare:place

# --- other names
said "did you mean 'order'?" 'p:./shop:place ordr->id'
said "did you mean 'shop.c'?" p:./shop:sohp.c:7
accepted p:./shop:shop.c:7
cp "$(command -v sleep)" redis-sleeper
./redis-sleeper 60 &
until [ "$(cat /proc/$!/comm)" = redis-sleeper ]; do sleep 0.01; done
said "did you mean 'redis-sleeper'?" -p redsi-sleeper p:libc:malloc
accepted -p redis-sleeper p:libc:malloc
kill $!
cp "$(command -v sleep)" touch
./touch 60 &
until [ "$(cat /proc/$!/comm)" = touch ]; do sleep 0.01; done
said "is called 'nosuch'" -p nosuch p:libc:malloc
! grep -q "'touch'" err.txt || fail "touch is offered for nosuch"
kill $!

# --- what is only read
said "hint: arguments are only read, none is set: 'order->id' alone reads" 'p:./shop:place order->id=99'
said "hint: arguments are only read, none is set: 'order->id' alone reads" 'p:./shop:place qty order->id=99'
accepted 'p:./shop:place order->id'
said 'hint: arguments are only read, none is set; a number is \99' 'p:./shop:place qty=99'
accepted 'p:./shop:place qty=\99'

# --- lists: what is empty says so, on standard error alone
# listed TEXT WORD...
listed() {
	local text=$1
	shift
	"$UPROBE" -l "$@" > out.txt 2> err.txt || fail "-l $*"
	grep -qF -- "$text" err.txt || fail "-l $*: $(cat err.txt)"
}
listed "no function 'palce' in ./shop; did you mean 'place'?" ./shop palce
[ ! -s out.txt ] || fail 'there is something in an empty list'
listed "no function 'zz*' in ./shop" ./shop 'zz*'
listed 'no functions, or all are left out, in ./shop' ./shop '--exclude=*'
listed "a ',' is part of it" ./shop '--exclude=m*,p*'
listed '--exclude=m*,p*: no function has such a name' ./shop '--exclude=m*,p*'
"$UPROBE" -l ./shop --exclude='m*' --exclude='p*' > out.txt 2> err.txt || fail 'two patterns'
! grep -E '^(main|place)$' out.txt || fail 'they are not left out'
[ ! -s err.txt ] || fail "$(cat err.txt)"

# --- an IFUNC has no variables, and no implementation before a process shows one
cat > indirect.c << 'END'
static int with_plus(int number) { return number + 1; }
static int (*choose(void))(int) { return with_plus; }
int chosen(int number) __attribute__((ifunc("choose")));
int main(void) { return chosen(1); }
END
gcc -g -O0 -o indirect indirect.c || fail gcc
for args in '$params' number; do
	said 'chosen of ./indirect is an indirect function (IFUNC)' "p:./indirect:chosen $args"
	grep -q 'hint: arg1 is its first argument' err.txt || fail "no hint: $(cat err.txt)"
done
"$UPROBE" -o out.txt 'p:./indirect:chosen arg1:s32' -- ./indirect 2> err.txt
grep -qE 'arg1=1$' out.txt || grep -q 'no running process shows' err.txt || fail "arg1 is refused otherwise: $(cat out.txt err.txt)"
