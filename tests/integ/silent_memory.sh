# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Memory that never answers, in one process: a file whose FUSE server is silent, pages that a userfaultfd is to fill,
# a lock on all of its memory. Whoever reads there waits for ever, and cannot be killed. What a probe wants of it
# is (fault), and counted with the reason; another process is traced as ever, and uprobe ends when it is told to.
. "${0%/*}/lib.bash"
need_root
in_modes auto trap step

T=$FIXTURES/silent_memory
plain_uprobe=$UPROBE
missing=

# called NAME: it has come back from its calls.
called() {
	local line fd=OUT_$1
	read -r -t "$TIMEOUT" line <&"${!fd}" && [ "$line" = called ] || fail "$1: no call is over"
}

# beside WAY ROUNDS PLAIN FAULTS WHY [STATUS]: so many events have the text, and so many (fault), because of WHY. At the end all is
# taken out; or, STATUS 1, not of the process that lets nobody in, which is told.
beside() {
	local way=$1 rounds=$2 plain=$3 faults=$4 why=$5 status=${6:-0} cannot
	cannot=$("$T" "$way" < /dev/null 2>&1 | sed -n 's/^cannot //p')
	[ -z "$cannot" ] || { missing+=" $way ($cannot)"; return; }
	NAME=silent start silent_memory "$way" "$rounds"
	NAME=other start silent_memory alone
	trace -o out.txt --stats -p "$PID_silent,$PID_other" -e "p:t/touch $T:touch text=+0($ARG1):string" \
		-e "r:t/back $T:touch"
	go silent
	called silent
	wait_for out.txt '\(fault\)' # of a thread, perhaps
	for _ in 1 2 3; do
		go other
		called other
	done
	kill -INT "$UBP_PID"
	trace_done "$status"
	[ "$status" = 0 ] || grep -q "warning: process $PID_silent: .* could not be taken out: .*; the guard stays" err.txt ||
		fail "$way: what stays is not told"
	expect_count 3 "-$PID_other .* touch: .*text=\"plain\""
	expect_count 3 "-$PID_other .* back: "
	[ "$(events | grep -v -- "-$PID_other " | grep -c 'text="plain"')" = "$plain" ] || fail "$way: not $plain events with text"
	[ "$(events | grep -v -- "-$PID_other " | grep -c 'text=(fault)')" = "$faults" ] || fail "$way: not $faults times (fault)"
	grep -qE "/touch .* unanswered=$faults why_unanswered=\"$why\"" err.txt || fail "$way: unanswered=$faults is not told: $(grep stats err.txt)"
	# What one has cost the others is told.
	[[ $why != *"in time"* ]] || grep -qE '^uprobe: stats: processes=2 .* unanswered_us=[1-9][0-9]* longest_answer_us=[1-9]' err.txt ||
		fail "$way: nothing tells how long the others waited"
	kill -9 "$PID_silent" "$PID_other"
	wait "$PID_silent" "$PID_other" 2> /dev/null
	PIDS=()
}

beside fuse 1 0 1 'a page of a file .*'
beside uffd 1 0 1 'a page is for a userfaultfd .*'
# What tells that somebody has one is for root, where the kernel shows it.
if [ -r /sys/kernel/slab/userfaultfd_ctx_cache/objects ]; then
	beside passed 1 0 1 'a page is for a userfaultfd .*'
else
	missing+=" passed"
fi
# A jump's code reads by itself what was known to be there, in the thread that comes by, as the kernel does.
[ "$MODE" = auto ] || beside later 3 3 1 'a page of a file .*'
# What was seen of another user's process a moment ago is good for nothing: it may want to keep us waiting.
[ "$MODE" = auto ] || beside quick 3 3 1 'a page of a file .*'
# And needs the thread's stack, as any of its functions does.
beside locked 1 0 1 'memory did not answer in time' 1
[ "$MODE" = auto ] || [ "$(uname -m)" != x86_64 ] || beside stack 1 0 1 'a page of a file .*'

# A file of an overlay that has such a layer. The program has made it in a user namespace of its own: nothing tells what is below.
if [ "$MODE" = auto ]; then
	case $("$T" layer < /dev/null 2>&1) in
	cannot*) missing+=" layer" ;;
	*)
		NAME=layer start silent_memory layer
		refused 'its file system does not answer' -p "$PID_layer" "p:$PWD/merged/file:main"
		;;
	esac
fi
# Code that never comes: the others are traced, and one line tells why one is not.
missed="can't be read: (a page of a file .*|memory did not answer in time)"
NAME=silent start silent_memory text
refused "file:touch: its code at 0x[0-9a-f]* in process $PID_silent $missed" -p "$PID_silent" "p:$PWD/mnt/file:touch"
kill -9 "$PID_silent"
wait "$PID_silent" 2> /dev/null
# Who opens the file waits, too, as long as somebody waits for a page of it: another one.
NAME=silent start silent_memory text
NAME=other start silent_memory alone
trace --stats -e "p:t/never /proc/$PID_silent/root$PWD/mnt/file:touch" -e "p:t/touch $T:touch text=+0($ARG1):string"
wait_for err.txt "^uprobe: warning: process $PID_silent is not traced: .* $missed"
for _ in 1 2 3; do
	go other
	called other
done
trace_stop
expect_count 3 "-$PID_other .* touch: .*text=\"plain\""
expect_count 0 ' never: '
kill -9 "$PID_silent" "$PID_other"
wait "$PID_silent" "$PID_other" 2> /dev/null

# A thread that waits for the file which it executes holds what whoever seizes one of the process has to wait for.
late="process [0-9]* is in the middle of an exec that does not come to its end"
case $("$T" exec < /dev/null 2>&1) in
cannot*) missing+=" exec" ;;
*)
	NAME=silent start silent_memory exec
	refused "$late" -p "$PID_silent" "p:$T:touch"
	NAME=other start silent_memory alone
	trace -o out.txt --stats -e "p:t/touch $T:touch text=+0($ARG1):string"
	wait_for err.txt "^uprobe: warning: process $PID_silent is not traced now: $late"
	for _ in 1 2 3; do
		go other
		called other
	done
	kill -TERM "$UBP_PID"
	trace_done
	expect_count 3 "-$PID_other .* touch: .*text=\"plain\""
	expect_count 0 "-$PID_silent .* touch: "
	[ "$(grep -c "process $PID_silent is not traced" err.txt)" = 1 ] || fail "exec: told more than once"
	grep -qE '^uprobe: stats: processes=[0-9]* skipped=1 ' err.txt || fail "exec: skipped=1 is not told: $(grep stats err.txt)"
	# When that is over it is traced like the others.
	trace -o out.txt -e "p:t/touch $T:touch"
	deadline=$((SECONDS + TIMEOUT))
	until grep -q -- "-$PID_silent .* touch: " out.txt; do
		[ "$SECONDS" -lt "$deadline" ] || fail "exec: it is never traced"
		go silent
		called silent
	done
	trace_stop
	kill -9 "$PID_silent" "$PID_other"
	wait "$PID_silent" "$PID_other" 2> /dev/null
	;;
esac

# The program itself is a file of a server that answers no more: what kind of program it is cannot be looked at. On a busy
# machine one of the looks before may be the one that is given up.
case $("$T" program < /dev/null 2>&1) in
cannot*) missing+=" program" ;;
*)
	NAME=silent start silent_memory program
	refused "its file system does not answer" -p "$PID_silent" "p:$T:touch"
	kill -9 "$PID_silent"
	wait "$PID_silent" 2> /dev/null
	;;
esac

# Where words have to be poked the tracer waits itself: a stranger that maps such a file at all is left alone, another is traced.
if [ "$MODE" = auto ] || [ "$MODE" = trap ]; then
	# shellcheck disable=SC2016 # for the inner shell
	printf '#!/bin/sh\nexec unshare -m sh -c '\''mount -o remount,bind,ro /proc && exec "$0" "$@"'\'' "$@"\n' > ro
	printf '#!/bin/sh\nexec %s/ro %s "$@"\n' "$PWD" "$UPROBE" > uprobe_ro
	chmod 755 ro uprobe_ro
	if ./ro sh -c ': > /proc/self/comm' 2>&1 | grep -q 'Read-only'; then
		another_user busy
		UPROBE=$PWD/uprobe_ro
		NAME=silent start silent_memory other
		NAME=other start "$START_AS_USER" "$FIX/busy" 4
		text_of "$PID_other" "$FIX/busy" clean
		refused "cannot write to the code of process $PID_silent: a page of a file .*" -p "$PID_silent" "p:$T:touch"
		trace -e "p:t/touch $T:touch" -e "p:b/step $FIX/busy:step" -e "r:b/ret $FIX/busy:step"
		wait_for err.txt "^uprobe: warning: process $PID_silent is not traced: cannot write to the code of process $PID_silent: a page of a file"
		wait_for out.txt "-$PID_other .* ret: |busy-[0-9]+ .* ret: "
		text_of "$PID_other" "$FIX/busy" changed
		cmp -s clean changed && fail "nothing was planted: nothing is shown by this"
		trace_stop
		text_of "$PID_other" "$FIX/busy" now
		cmp clean now || fail "the code is not what it was"
		go other
		finish other
		go silent
		called silent
	else
		missing+=" words poked (/proc cannot be made read-only)"
	fi
fi
UPROBE=$plain_uprobe

# Without a slot an instruction is stepped where it stands, and the kernel reads it for that: not of a stranger.
if [ "$MODE" = auto ]; then
	NAME=full start silent_memory full
	refused "'.*' at 0x.* would have to be stepped in place \(--force\), but its memory may not answer" \
		--force -p "$PID" "p:$T:touch"
	go full
	called full
	# One that is a stranger's by the time of the hit is stepped no more.
	NAME=turn start silent_memory turn
	trace -o out.txt --force --stats -p "$PID" -e "p:t/touch $T:touch"
	go turn
	called turn
	go turn
	called turn
	kill -INT "$UBP_PID"
	trace_done 1
	expect_count 1 ' touch: '
	grep -q ' in_place=1 ' err.txt || fail "not in place"
	grep -qE "^uprobe: warning: process $PID: the probe at 0x.* is taken out: " err.txt || fail "nobody tells that it is taken out"
fi
[ -z "$missing" ] || skip "not to be had here:$missing"
