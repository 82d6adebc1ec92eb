# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Return probes on functions that jump to each other: detours record them without a stop, the inner ones first, and
# what is thrown, left by longjmp(), forked, or entered in signal handlers disturbs neither them nor the program.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/tail_chain
THREADS=2
N=$(scaled 4000)
POINTS=(chain_f chain_g chain_h deep)
defs=()
for f in "${POINTS[@]}"; do defs+=(-e "p:t/$f $F:$f" -e "r:t/${f}_ret $F:$f \$duration \$retval:s64"); done
# stat NAME PROBE
stat() { sed -nE "s/^uprobe: stats: .*t\/$2 .*\b$1=([0-9]+).*/\1/p" err.txt | head -n 1; }

# check: all that LAST says is there, but for what was missed.
check() {
	python3 - "$1" "$LAST" <<'PY' || fail "$1: not the returns there were"
import json, sys
said = dict(zip(*[iter(sys.argv[2].split())] * 2))
pending, n = {}, {}
for line in open("out.txt", encoding="utf-8"):
    e = json.loads(line)
    n[e["event"]] = n.get(e["event"], 0) + 1
    stack = pending.setdefault(e["tid"], [])
    if e["event"] == "chain_f":
        stack.append([])
    elif e["event"].startswith("chain_") and e["event"].endswith("_ret"):
        # The handler's chain is between others' entry and return; children have their mother's.
        stack.append((e["event"], e["args"]["duration"], e["args"]["arg2"]))
for tid, stack in pending.items():
    done = [x for x in stack if x]
    for inner, middle, outer in zip(done[::3], done[1::3], done[2::3]):
        assert (inner[0], middle[0], outer[0]) == ("chain_h_ret", "chain_g_ret", "chain_f_ret"), (inner, middle, outer)
        assert inner[1] <= middle[1] <= outer[1], (inner, middle, outer)
        assert inner[2] == middle[2] == outer[2], (inner, middle, outer)
for f in "chain_f", "chain_g", "chain_h":
    assert n[f] == sum(map(int, said.values())), (f, n, said)
    assert n[f + "_ret"] == int(said["returned"]), (f, n, said)
assert n["deep_ret"] == n["deep"], n
PY
}
for mode in trap auto jump; do
	start tail_chain "$N" $THREADS
	trace --stats --lossless --json --mode=$mode -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	check $mode
	for f in chain_f chain_g chain_h; do
		missed=$(stat missed ${f}_ret)
		set -- $LAST
		[ "$missed" -le $(($4 + $6)) ] || fail "$mode: $f: $missed missed, $LAST"
	done
done

# The last one was by jumps: nearly all of it without a stop.
for f in "${POINTS[@]}"; do
	[ "$(stat jumps ${f}_ret)" = 1 ] || fail "no jump: $(cat err.txt)"
	hits=$(stat hits ${f}_ret) stopped=$(stat stopped ${f}_ret)
	[ $((stopped * 4)) -lt "$hits" ] || fail "$f: $stopped stops of $hits returns"
done

# A chain that is too long is the tracer's, as far as it goes on.
start tail_chain 200 1 20
trace --stats --lossless --json --mode=jump -p "$PID" "${defs[@]}"
go
finish
trace_done
check long
[ "$(stat stopped deep_ret)" -gt 100 ] || fail "no chain was too long: $(cat err.txt)"

# Whoever comes and goes, is killed or not, in the middle of a chain: the program does not notice, and who comes last has
# all from there on.
start tail_chain 0 $THREADS
go
for sig in INT KILL INT KILL KILL INT; do
	trace -p "$PID" -e "r:t/a $F:chain_f" -e "r:t/b $F:chain_h" -e "r:t/c $F:deep" -e "r:t/d $F:chain_g"
	kill -"$sig" "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	alive
done
go
finish
