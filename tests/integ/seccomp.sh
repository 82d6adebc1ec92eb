# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Targets whose seccomp filter forbids what ubp has to do in them. With privilege
# the filter is suspended, only for ubp's own calls; without, they are refused, or
# (--force) nothing is asked of them. They survive, and their filter still holds.
. "${0%/*}/lib.bash"

need_arch x86_64 aarch64
another_user confined
F=$FIX/confined
defs=(-e "p:c/step $F:step i=$ARG1:s64" -e "r:c/ret $F:step v=\$retval:s64")
ours() { # how many mappings without a name are executable
	awk '$2 ~ /x/ && NF == 5' "/proc/$PID/maps" | wc -l
}
# end_confined WAY: it has done its work; see that its filter holds.
end_confined() {
	local rc want=0
	go
	wait "$PID"
	rc=$?
	[ "$1" != strict ] || want=137
	[ $rc = $want ] || fail "$1: it ended with $rc, not $want: $(cat fix.err)"
}
check_events() {
	expect_count 100 ' step: .* i='
	expect_count 100 ' ret: .* v='
	[ $(($(sed -nE 's/.* v=([0-9]+)$/\1/p' out.txt | paste -sd+))) = 5050 ] || fail "wrong values"
}
done_line() { read -r -t "$TIMEOUT" word sum <&"$OUT_fix" && [ "$word $sum" = "done 5050" ] || fail "$1: '$word $sum'"; }

as_root() {
	start "$F" "$1" 100
	trace --stats -p "$PID" -n 200 "${defs[@]}"
	[ "$(ours)" -ge 1 ] || fail "$1: it mapped nothing"
	go
	done_line "$1"
	trace_done
	check_events
	grep -q ' unguarded=0 ' err.txt || fail "$1: not guarded"
	untraced "$PID"
	end_confined "$1"
}
as_nobody() {
	local real=$UPROBE
	UPROBE=$UPROBE_AS_USER
	start "$START_AS_USER" "$F" "$1" 100
	refused 'confined by .*(CAP_SYS_ADMIN).*--force' -p "$PID" "${defs[@]}"
	[ "$(ours)" = 0 ] || fail "$1: it mapped something"
	untraced "$PID"
	text_of "$PID" "$F" before
	trace --force --stats -p "$PID" -n 200 "${defs[@]}"
	[ "$(ours)" = 0 ] || fail "$1: it mapped something"
	go
	done_line "$1"
	trace_done
	check_events
	grep -q '^uprobe: warning: process [0-9]* .*SIGKILL' err.txt || fail "$1: no warning"
	grep -q ' unguarded=1 ' err.txt || fail "$1: not counted"
	grep -q 'boosted=1' err.txt || fail "$1: no slot in the slack"
	untraced "$PID"
	text_of "$PID" "$F" after
	# What is behind the code may be another: nothing runs there.
	cmp <(head -c "$(code_len)" before) <(head -c "$(code_len)" after) || fail "$1: its code is not what it was"
	end_confined "$1"
	UPROBE=$real
}
code_len() { echo $(($(readelf -lW "$F" | awk '$1 == "LOAD" && / R E / { print $5 }'))); }
have readelf
[ "$(yama_scope)" = 0 ] || skip "yama lets nobody attach to a process that it did not start"
# Killed, ubp leaves breakpoints behind, and the guard: no call of its own is needed.
bereft() {
	start "$F" "$1" 100
	trace -p "$PID" "${defs[@]}"
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	go
	done_line "$1"
	end_confined "$1"
}
ways=(errno trap kill notif strict) cannot=
"$F" has-notif || { ways=(errno trap kill strict) cannot="this kernel has no seccomp filters that ask a supervisor"; }
for way in "${ways[@]}"; do
	as_root $way
	bereft $way
	as_nobody $way
done

# A filter that comes when the guard stands already, and makes it impossible to put it
# back (blocked, SIGTRAP takes the handler away).
late() {
	start "$@" "$F" late 100 # perhaps by way of START_AS_USER
	trace -p "$PID" -n 200 "${defs[@]}"
	go
	done_line late
	trace_done
	check_events
	untraced "$PID"
	end_confined late
}
late
real=$UPROBE
UPROBE=$UPROBE_AS_USER
late "$START_AS_USER"
UPROBE=$real

# Root without CAP_SYS_ADMIN is no better off.
if command -v capsh > /dev/null; then
	real=$UPROBE
	printf '#!/bin/sh\nexec capsh --drop=cap_sys_admin -- -c '\''exec "$0" "$@"'\'' %s "$@"\n' "$UPROBE" > no_admin
	chmod 755 no_admin
	start "$F" kill 100
	UPROBE=$PWD/no_admin
	refused 'CAP_SYS_ADMIN' -p "$PID" "${defs[@]}"
	UPROBE=$real
	go
	done_line kill
	end_confined kill
fi

# Under the same filter as ubp, as in one container: what ubp may do it may do too.
# With a further one of its own: refused. Before Linux 5.9 nothing tells that it is the same.
if ! grep -q '^Seccomp_filters:' /proc/self/status; then
	skip "this kernel does not tell how many filters a process has${cannot:+; $cannot}: of the rest all passed"
fi
real=$UPROBE
printf '#!/bin/sh\nexec %s %s under %s "$@"\n' "$START_AS_USER" "$F" "$FIX/uprobe" > under
printf '#!/bin/sh\nexec %s %s under "$@"\n' "$START_AS_USER" "$F" > start_under
chmod 755 under start_under
cp "$FIXTURES/threads" "$FIX/"
UPROBE=$PWD/under
start "$PWD/start_under" "$FIX/threads" 2 10
trace -p "$PID" -e "p:t/tick $FIX/threads:tick" -e "r:t/ret $FIX/threads:tick"
go
finish
trace_done
expect_count 20 ' tick: '
expect_count 20 ' ret: '
start "$PWD/start_under" "$F" kill 100
refused 'confined' -p "$PID" "${defs[@]}"
go
done_line kill
end_confined kill
UPROBE=$real
[ -z "$cannot" ] || skip "$cannot: of the rest all passed"
