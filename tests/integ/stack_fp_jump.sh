# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks by frame pointers: those that jumps take are those that breakpoints take, and those
# that the kernel takes: through replaced return addresses, from several threads, from
# signal handlers, of any length, and where that register holds something else.
. "${0%/*}/lib.bash"
need_arch x86_64 aarch64

F=$FIXTURES/stack_fp
N=$(scaled 60)
INSIDE=leaf+4 # where it has its frame
[ "$(uname -m)" = x86_64 ] || INSIDE=leaf+8
defs=(-e "p:s/leaf $F:$INSIDE n=$ARG1:s64" -e "r:s/middle $F:middle" -e "p:s/outer $F:outer" -e "p:s/naked $F:naked")
# The stacks, a line each, with the event; sorted, for there are threads. $1: entries at most.
stacks() {
	python3 - "$@" <<'PY'
import re, sys
n = int(sys.argv[2]) if len(sys.argv) > 2 else 127
stacks, event = [], None
for line in open(sys.argv[1], errors="surrogateescape"):
    entry = re.match(r" =>  <([0-9a-f]{16})>$", line)
    head = re.match(r" *\S.*: (\w+): \(0x", line)
    if entry:
        stacks[-1].append(entry[1])
    elif head:
        event = head[1]
    elif "<user stack trace>" in line:
        stacks.append([event])
print(*sorted(" ".join(s[: n + 1]) for s in stacks), sep="\n")
PY
}
run() { # run OUT ARG...: the same addresses each time
	local out=$1
	shift
	echo go | "$UPROBE" --stack fp --stack-raw --lossless --stats -o "$out" "$@" \
		-- "$FIXTURES/launch" "$F" $N 2 > stdout.txt 2> "$out.err" || fail "$out: $? $(cat "$out.err")"
}
run trap.out --mode trap "${defs[@]}"
run jump.out --mode jump "${defs[@]}"
run few.out --mode jump --frames 5 "${defs[@]}"
stacks trap.out > trap.txt
stacks jump.out > jump.txt
[ "$(wc -l < trap.txt)" = $((3 * N * (4 + 4 + 2 + 2))) ] || fail "$(wc -l < trap.txt) stacks"
awk '{ if (NF > max) max = NF } END { exit max != 128 }' trap.txt || fail "none is as long as it may be"
cmp trap.txt jump.txt || { diff trap.txt jump.txt | cut -c1-300 | head -n 4; fail "not the same from jumps"; }
stacks few.out | cmp - <(cut -d ' ' -f 1-6 trap.txt | sort) || fail "--frames 5"
for e in leaf outer middle; do
	grep -q " s/$e .* jumps=1 " jump.out.err || fail "$e is no jump: $(cat jump.out.err)"
done
# Most without a stop; where a link register is what was replaced, only if that is not on the way.
# Jumps come some time after the breakpoints: late, on a busy machine.
[ "$(uname -m)" != aarch64 ] || defs=("${defs[@]:0:2}")
for try in 1 2 3 4 5; do
	run alone.out --mode jump "${defs[@]}"
	awk '/ s\/leaf / { split($0, a, "hits="); h = a[2] + 0; split($0, a, "stopped="); exit a[2] * 4 > h }' alone.out.err && break
	[ $try != 5 ] || fail "most hits stop: $(grep leaf alone.out.err)"
done

# With names: the same functions as the fixture calls.
start stack_fp 3 1
trace --stack fp --mode jump -p "$PID" -e "p:s/leaf $F:$INSIDE"
go
finish
trace_done
grep -q "^ => leaf+0x${INSIDE#*+} ($(realpath "$F"))$" out.txt || fail "leaf"
for f in middle outer down work main on_signal; do
	grep -q "^ => $f+0x[0-9a-f]* (" out.txt || fail "$f"
done

# The kernel tells the first 8.
T=/sys/kernel/tracing
[ "$(id -u)" = 0 ] && [ -w $T/uprobe_events ] && [ -d $T/instances ] || { echo "beside the kernel: needs root and tracefs"; exit 0; }
E=stack$$
I=$T/instances/$E
mkdir "$I" || fail "no instance"
undo() {
	echo 0 > "$I/events/$E/leaf/enable"
	rmdir "$I"
	echo "-:$E/leaf" >> $T/uprobe_events
	cleanup
}
trap undo EXIT
[ -e "$I/options/userstacktrace" ] || skip "no userstacktrace in instances"
offset=$("$UPROBE" --check -e "p:s/leaf $F:$INSIDE" | sed -n 's/.*:0x0*\([0-9a-f]*\)$/\1/p')
echo "p:$E/leaf $(realpath "$F"):0x$offset" >> $T/uprobe_events || fail "uprobe_events"
echo 1 > "$I/options/userstacktrace"
echo 4096 > "$I/buffer_size_kb"
echo 1 > "$I/events/$E/leaf/enable"
echo go | "$FIXTURES/launch" "$F" $N 2 > /dev/null || fail "fixture"
echo 0 > "$I/events/$E/leaf/enable"
cat "$I/trace" > kernel.out
if ! grep -q '<user stack trace>' kernel.out && [ "$(uname -m)" = aarch64 ] && grep -q ': leaf: ' kernel.out; then
	echo "beside the kernel: this one takes no stacks of programs"
	exit 0
fi
stacks kernel.out 8 > kernel.txt
[ "$(wc -l < kernel.txt)" = $((3 * N * 4)) ] || fail "the kernel has $(wc -l < kernel.txt) stacks"
grep '^leaf' jump.txt | cut -d ' ' -f 1-9 | sort | cmp - kernel.txt || fail "not those of the kernel"
