# SPDX-License-Identifier: LGPL-2.1-or-later
# test-mounts
# Triggers of ubp-fs where traces differ: folders of instances/ have their own, and synthetic events happen in each that has them enabled; a stack is what a
# trigger asks for; while a trigger is being written for an event that is not enabled, none of its hits is traced.
. "${0%/*}/lib.bash"

[ -x "$UBP_FS" ] || skip 'ubp-fs is not built: libfuse3 is missing'
[ -w /dev/fuse ] || skip 'there is no /dev/fuse'

T=$PWD/tracing
mkdir tracing
"$UBP_FS" -f "$T" 2> fs.err &
SERVER=$!
HOT=
end_server() {
	[ -z "$HOT" ] || kill -KILL "$HOT" 2> /dev/null
	kill -KILL "$SERVER" 2> /dev/null
	fusermount3 -u -z "$T" 2> /dev/null
	cleanup
}
trap end_server EXIT
is_mounted() { [ -e "$T/README" ] || ! kill -0 "$SERVER" 2> /dev/null; }
eventually is_mounted
[ -e "$T/README" ] || fail "ubp-fs has ended: $(cat fs.err)"
# What was traced, without who, where and when.
traced() { sed -E '/^#/d; s/^ +[^ ]+-[0-9]+ +\[[0-9]+\] [^ ]+ +[0-9.]+: //; s/0x[0-9a-f]{6,}/ADDR/g; s/[0-9a-f]{12,}/ADDR/g' "$1/trace"; }
is() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }
run() { echo go | ./target a you too > /dev/null; }

cp "$FIXTURES/hello" target
GREET=$(foffset_of target greet)
echo "p:g/greet $PWD/target:$GREET nn=$ARG2:s32" >> "$T/uprobe_events"
E=events/g/greet
I=$T/instances/one
mkdir "$I" "$T/instances/two"

# --- each trace has its own
echo 'traceoff if nn == 2' > "$I/$E/trigger"
echo 'hist:keys=nn' > "$T/$E/trigger"
is "$(cat "$I/$E/trigger")" 'traceoff:unlimited if nn == 2'
is "$(cat "$I/$E/enable") $(cat "$T/$E/enable") $(cat "$T/instances/two/$E/enable")" '0* 0* 0'
echo 1 > "$I/$E/enable"
run
is "$(cat "$I/tracing_on")$(cat "$T/tracing_on")" 01
is "$(traced "$I")" 'greet: (ADDR) nn=1
greet: (ADDR) nn=2'
is "$(traced "$T")" ''
grep -q 'Hits: 3' "$T/$E/hist" || fail "$(cat "$T/$E/hist")"
[ ! -s "$I/$E/hist" ] || fail "a histogram of another trace: $(cat "$I/$E/hist")"
echo '-:g/greet' >> "$T/uprobe_events" 2> /dev/null && fail 'an event goes that triggers of an instance are about'

# --- a synthetic event that one makes, in all
echo 'big s32 nn' > "$T/synthetic_events"
echo 1 > "$T/instances/two/events/synthetic/big/enable"
echo 1 > "$T/events/synthetic/big/enable"
echo 1 > "$I/tracing_on"
echo 'hist:keys=common_pid:most=nn:onmax($most).trace(big,nn)' > "$I/$E/trigger"
run
is "$(traced "$T")" "$(traced "$T/instances/two")"
is "$(traced "$T/instances/two")" 'big: nn=1
big: nn=2
big: nn=3'
echo '!big' >> "$T/synthetic_events" 2> /dev/null && fail 'a synthetic event goes that an instance uses'
rmdir "$I"
echo 0 > "$T/events/synthetic/big/enable"
echo '!big' >> "$T/synthetic_events" 2> /dev/null && fail 'a synthetic event goes that is enabled in an instance'
echo 0 > "$T/instances/two/events/synthetic/big/enable"
echo '!big' >> "$T/synthetic_events" || fail 'the instance is gone, its histogram is not'
mkdir "$I"
grep -q '^# Available' "$I/$E/trigger" || fail "triggers of a folder of before: $(cat "$I/$E/trigger")"
: > "$T/$E/trigger"

# --- a stack, of an event that is traced itself or not
echo 'stacktrace:1 if nn == 2' > "$I/$E/trigger" || fail 'no trigger stacktrace'
run
traced "$I" > stack.txt
[ "$(sed -n 1p stack.txt)" = '<user stack trace>' ] && [ "$(grep -vc '^<user\|^ => ' stack.txt)" = 0 ] || fail "stack alone: $(cat stack.txt)"
is "$(cat "$I/$E/trigger")" 'stacktrace:count=0 if nn == 2'
echo '!stacktrace' > "$I/$E/trigger"
echo stacktrace:2 > "$I/$E/trigger"
echo 1 > "$I/$E/enable"
: > "$I/trace"
run
is "$(traced "$I" | grep -v '^ => ' | tr '\n' ';')" 'greet: (ADDR) nn=1;<user stack trace>;greet: (ADDR) nn=2;<user stack trace>;greet: (ADDR) nn=3;'
rmdir "$I" "$T/instances/two"

# --- what is hit before its trigger is there
cat > hot.c <<'EOF'
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void hit(void) { __asm__ volatile(""); }
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		hit();
		usleep(20);
	}
}
EOF
cc -O1 -o hot hot.c
./hot > hot.txt &
HOT=$!
eventually grep -q ready hot.txt
echo "p:g/hit $PWD/hot:$(foffset_of hot hit)" >> "$T/uprobe_events"
for _ in $(seq "$(often 8)"); do
	echo 'hist:keys=common_pid' > "$T/events/g/hit/trigger"
	echo '!hist:keys=common_pid' > "$T/events/g/hit/trigger"
done
is "$(traced "$T" | grep -v LOST | sed 3q)" ''
