# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The kernel's process connector belongs to the first pid namespace. Inside another one that has
# the host's network, others' subscriptions and what is reported to them neither keep ubp
# from starting, nor from ending, nor are taken for its own. And a subscription of ubp's ends with
# ubp, however that ends.
. "${0%/*}/lib.bash"

need_root
have unshare
in_first_pid_namespace || skip "needs the first pid namespace"
unshare -pf --mount-proc true || skip "no pid namespaces here"

answer=$("$TOOLS/connector" overhear) || skip "$answer"

cat > inside.sh << 'END'
mkfifo ready.fifo
"$UPROBE" --stats --ready-fd 8 "p:$FIXTURES/hello:greet" > out.txt 2> err.txt 8> ready.fifo &
pid=$!
read -r -t 20 line < ready.fifo && [ "$line" = ready ] || { echo "not ready"; kill -9 $pid; exit 1; }
kill -TERM $pid
timeout 20 tail -s 0.05 --pid=$pid -f /dev/null || { echo "TERM is not obeyed"; exit 1; }
wait $pid
END
export UPROBE FIXTURES
for other in listen again; do
	NAME=$other start "$TOOLS/connector" $other
	rm -f ready.fifo
	unshare -pf --mount-proc --kill-child bash inside.sh || fail "in a pid namespace ($other)"
	grep -q 'finder="scan of /proc' err.txt || fail "pids of another namespace are watched"
	rm -f ready.fifo

	# In the first one, beside the same other listener.
	trace --stats "p:$FIXTURES/hello:greet"
	trace_stop
	grep -q 'finder="proc connector' err.txt || fail "the connector is not used"
	go $other
	finish $other
done

# If a subscriber was killed on this machine before, the kernel reports events for ever, so the end of a subscription
# cannot be seen by silence. Then it is seen by an acknowledgement: ubp ends its subscriptions under the number 0.
NAME=acks start "$TOOLS/connector" acks
cat <&"$OUT_acks" > acks.txt &
PIDS+=($!)
is_silent() { [ "$("$TOOLS/connector" overhear)" = silence ]; }
ends() { grep -c '^ack 1$' acks.txt; }
has_ended() { [ "$(ends)" -gt "$1" ] || is_silent; } # has_ended BEFORE
trace --stats "p:$FIXTURES/hello:greet"
! is_silent || fail "ubp does not listen"
before=$(ends)
trace_stop
eventually has_ended "$before"
trace "p:$FIXTURES/hello:greet"
before=$(ends)
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
eventually has_ended "$before"
go acks
finish acks
