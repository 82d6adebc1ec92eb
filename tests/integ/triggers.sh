# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --trigger and --synthetic: what is printed, what is not, and what is refused. (corpus_triggers.py has the language.)
. "${0%/*}/lib.bash"

need_arch x86_64
have gcc
gcc -O1 -fno-pie -no-pie -static -pthread -w -o trigtgt "$UBP_SRC/tests/corpus/trigtgt.c" || fail "trigtgt is not built"
FLIP='p:flip ./trigtgt:pt_flip i=%di:u32' TICK='p:tick ./trigtgt:pt_tick i=%di:u32'

# run ARG...: uprobe, its trace in out.txt, its messages in err.txt. RC is how it ended.
run() {
	"$UPROBE" --lossless -o out.txt "$@" > said.txt 2> err.txt
	RC=$?
}
good() { run "$@"; [ $RC = 0 ] || fail "uprobe $* ended with $RC"; }
# events: the trace without what differs from run to run.
events() { sed -n 's/^.*\] [.]* *[0-9.]*: //p' out.txt | sed 's/ (0x[0-9a-f]*)//'; }
is() { [ "$(events | tr '\n' ' ')" = "$1 " ] || fail "not '$1': '$(events | tr '\n' ' ')'"; }
# refused MESSAGE ARG...: said so, with status 1, and nothing was run.
refused() {
	local want=$1
	shift
	run "$@" -- ./trigtgt flip
	[ $RC = 1 ] || fail "$*: ended with $RC"
	[ "$(cat err.txt)" = "$want" ] || fail "$*: said '$(cat err.txt)'"
	[ ! -s said.txt ] || fail "$*: the program was run"
}

# A histogram of exact counts; lines of its event are not printed.
good -e "$FLIP" --trigger 'hist:keys=i.buckets=5:vals=i:sort=i' -- ./trigtgt flip
cat > want.txt <<'EOF'
# event histogram
#
# trigger info: hist:keys=i.buckets=5:vals=hitcount,i:sort=i:size=2048 [active]
#

{ i: ~ 0-4 } hitcount:          5  i:         10
{ i: ~ 5-9 } hitcount:          5  i:         35
{ i: ~ 10-14 } hitcount:          5  i:         60
{ i: ~ 15-19 } hitcount:          5  i:         85

Totals:
    Hits: 20
    Entries: 4
    Dropped: 0
EOF
cmp -s want.txt out.txt || fail "the histogram is $(cat out.txt)"

# The same as JSON, counted in the target or from records; and what actions keep.
json() {
	good --json -e "$FLIP" --trigger "$1" -- ./trigtgt flip
	python3 -c 'import json,sys; [json.loads(line) for line in open("out.txt")]' || fail "$1: no JSON"
	[ "$(cat out.txt)" = "$2" ] || fail "$1: as JSON $(cat out.txt)"
}
TOTALS='{"event":"uprobes:flip","totals":{"hits":20,"entries":'
json 'hist:keys=i.buckets=10:vals=i:sort=i' '{"event":"uprobes:flip","key":{"i":{"from":0,"to":9}},"hits":10,"sums":{"i":45}}
{"event":"uprobes:flip","key":{"i":{"from":10,"to":19}},"hits":10,"sums":{"i":145}}
'"$TOTALS"'2,"dropped":0}}'
json 'hist:keys=i.log2:sort=i:nohitcount:vals=i if i > 4' '{"event":"uprobes:flip","key":{"i":{"from":5,"to":8}},"hits":4,"sums":{"i":26}}
{"event":"uprobes:flip","key":{"i":{"from":17,"to":32}},"hits":3,"sums":{"i":54}}
{"event":"uprobes:flip","key":{"i":{"from":9,"to":16}},"hits":8,"sums":{"i":100}}
{"event":"uprobes:flip","totals":{"hits":15,"entries":3,"dropped":0}}'
json 'hist:keys=common_cpu if i > 99' '{"event":"uprobes:flip","totals":{"hits":0,"entries":0,"dropped":0}}'
good --json -e "$FLIP" --trigger 'hist:keys=common_pid.execname:vals=i' -- ./trigtgt flip
grep -qxE '\{"event":"uprobes:flip","key":\{"common_pid":\{"comm":"trigtgt","pid":[0-9]+\}\},"hits":20,"sums":\{"i":190\}\}' out.txt ||
	fail "names of threads: $(cat out.txt)"
good --json -e "$FLIP" --trigger 'hist:keys=common_pid:n=i:onmax($n).save(common_pid)' -- ./trigtgt flip
grep -qxE '\{"event":"uprobes:flip","key":\{"common_pid":([0-9]+)\},"hits":20,"max":19,"saved":\{"common_pid":\1\}\}' out.txt ||
	fail "what is kept: $(cat out.txt)"

# Of a process with threads and a child, each of which has its hits; paths are shown whose they are.
good -e 'p:thr ./trigtgt:pt_thr' --trigger 'hist:keys=common_pid.execname' -e 'p:key ./trigtgt:pt_k*' --trigger 'hist:keys=common_pid' -- ./trigtgt thr key
while read -r _ tid name; do
	case $name in child) n=5 ;; fifteen*) n=2 ;; two*) n=1 ;; beta) n=2 ;; *) continue ;; esac
	grep -qE "^\{ common_pid: $name *\[ *$tid\] \} hitcount: +$n\$" out.txt || fail "$name has not $n hits"
done < said.txt
grep -qx '# uprobes:thr' out.txt || fail "it is not said whose histogram it is"
grep -q 'hitcount:         55$' out.txt || fail "not all hits of pt_key are counted"

# Exact under a storm of threads and children.
cat > storm.c <<'EOF'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noipa)) void hot(unsigned long i) { __asm__ volatile("nop; nop; nop; nop; nop" ::"r"(i) : "memory"); }
static void *work(void *p)
{
	for (unsigned long i = 0; i < 20000; i++)
		hot(i & 3);
	return p;
}
int main(void)
{
	pthread_t t[4];

	for (int n = 0; n < 3; n++)
		if (fork() == 0)
			break;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	while (wait(0) > 0)
		;
	return 0;
}
EOF
gcc -O2 -pthread -w -o storm storm.c || fail "storm is not built"
good -e 'p:hot ./storm:hot i=%di:u64' --trigger 'hist:keys=i' -- ./storm
[ "$(grep -c 'hitcount:      80000$' out.txt)" = 4 ] && grep -q 'Hits: 320000$' out.txt || fail "not 320000 hits"

# Filters of triggers, and of the definition in front of them.
good -e "$FLIP" --filter 'i > 3' --trigger 'hist:keys=common_pid if i < 6' -- ./trigtgt flip
grep -q 'Hits: 2$' out.txt || fail "the filters let others pass"

# What the target has chosen drives no terminal, and begins no line.
good -e 'p:str ./trigtgt:pt_str s=+0(%di):string' --trigger 'hist:keys=s' -- ./trigtgt str
grep -q '{ s: two\\012lines ' out.txt || fail "a newline is not escaped"

# traceoff, counts, events on and off: before, at and behind the hit as the kernel has it.
good -e "$FLIP" --trigger 'traceoff if i == 2' -e "$TICK" -- ./trigtgt flip
is 'flip: i=0 tick: i=0 flip: i=1 tick: i=1 flip: i=2'
good -e "$FLIP" --trigger 'enable_event:uprobes:tick if i == 3' --trigger 'traceoff if i == 4' -e "$TICK" -- ./trigtgt flip
is 'flip: i=0 flip: i=1 flip: i=2 flip: i=3 tick: i=3 flip: i=4'

# A snapshot: what came before it, and nothing else.
good -e "$FLIP" --trigger 'snapshot:1 if i == 1' -e "$TICK" -- ./trigtgt flip
is 'flip: i=0 tick: i=0 flip: i=1'
good -e "$FLIP" --trigger 'snapshot if i > 100' -e "$TICK" -- ./trigtgt flip
[ ! -s out.txt ] || fail "something is told without a snapshot"

# A latency between two events is an event, as text and as JSON; its filters and histograms are like those of others.
IN='p:in ./trigtgt:pt_in id=%di:u64 vv=%si:u64 ss=+0(%dx):string' OUT='p:out ./trigtgt:pt_out id=%di:u64 vv=%si:u64'
pair=(--synthetic 'lat u64 id; u64 delta; char[] who' -e "$IN" --trigger 'hist:keys=id:v0=vv:s0=ss'
	-e "$OUT" --trigger 'hist:keys=id:dd=vv-$v0:onmatch(uprobes.in).trace(lat,id,$dd,$s0)')
good "${pair[@]}" -- ./trigtgt lat
events | grep -qx 'lat: id=2 delta=7 who=banana' || fail "there is no event 'lat' for 2"
[ "$(events | grep -c '^lat: ')" = 6 ] || fail "not 6 pairs"
good -n 2 "${pair[@]}" -- ./trigtgt lat
[ "$(events | grep -c '^lat: ')" = 2 ] || fail "-n does not count synthetic events"

# Stacks are recorded where that was asked for.
good -s -e "$FLIP" --trigger 'stacktrace:1 if i == 3' --trigger 'hist:keys=common_stacktrace' -- ./trigtgt flip
[ "$(grep -c '<user stack trace>' out.txt)" = 1 ] || fail "there is not one stack"
grep -q 'hitcount:         20$' out.txt || fail "stacks are no keys"
refused "uprobe: error: there is no event 'uprobes:flop'
  enable_event:uprobes:flop:2 if i > 1
               ^" -e "$FLIP" --trigger 'enable_event:uprobes:flop:2 if i > 1'
refused "uprobe: error: 'flip' is not GROUP:EVENT
  disable_event:flip
                ^" -e "$FLIP" --trigger disable_event:flip
refused "uprobe: error: 'traceon': the event has one of that kind already" -e "$FLIP" --trigger 'traceoff if i > 3' --trigger traceon
refused "uprobe: error: 'stacktrace': no stacks are taken (-s)" -e "$FLIP" --trigger stacktrace

# The kernel's words, and where.
refused "uprobe: error: Couldn't find field
  hist:keys=nothing
            ^" -e "$FLIP" --trigger 'hist:keys=nothing'
refused "uprobe: error: 'histo' is no trigger; did you mean 'hist'?
  histo:keys=i
  ^" -e "$FLIP" --trigger 'histo:keys=i'
refused "uprobe: error: 'count' is no trigger: there are hist, traceon, traceoff, snapshot, stacktrace, enable_event, disable_event, enable_hist and disable_hist
  !count
   ^" -e "$FLIP" --trigger '!count'
refused "uprobe: error: 'histo:keys=i': Invalid argument" --strict -e "p:flip ./trigtgt:$(foffset_of trigtgt pt_flip)" --trigger 'histo:keys=i'
refused "uprobe: error: Field not found
  i == 1 && q == 2
              ^" -e "$FLIP" --trigger 'traceoff if i == 1 && q == 2'
refused "uprobe: error: Hist trigger already exists
  hist:keys=i
  ^" -e "$FLIP" --trigger 'hist:keys=i' --trigger 'hist:keys=i'
refused "uprobe: error: Invalid type
  lat uint64 id
      ^" --synthetic 'lat uint64 id' -e "$FLIP"
run --trigger 'hist:keys=i' -e "$FLIP" -- ./trigtgt flip
[ $RC = 2 ] || fail "a trigger without a definition: $RC"
run --folded -e "$FLIP" --trigger 'hist:keys=i' -- ./trigtgt flip
[ $RC = 2 ] || fail "a histogram as stacks: $RC"
exit 0
