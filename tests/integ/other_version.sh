# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What another version of ubp has left in a process, or does there, is not touched: one line tells so, and the target runs on.
. "${0%/*}/lib.bash"
in_modes auto trap

# version.py PID N: the heads of our areas in PID say that version N made them. Prints what they said.
cat > version.py << 'END'
import re, struct, sys
was = None
with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "r+b", buffering=0) as mem:
    for line in maps:
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp \S+ \S+ 0 ", line)
        at, end = (int(m[1], 16), int(m[2], 16)) if m else (0, 0)
        while at < end:
            mem.seek(at)
            head = mem.read(24)
            if head[:8] != struct.pack("=Q", 0x44524155472d4255):
                break
            was, size = struct.unpack("=QQ", head[8:])
            mem.seek(at + 8)
            mem.write(struct.pack("=Q", int(sys.argv[2])))
            at += size
print(was or "none")
END
not_touched() {
	text_of "$PID" "$F" before
	refused "process $PID may have probes of another version of ubp" -p "$PID" -n 1 "${defs[@]}"
	alive
	text_of "$PID" "$F" now
	cmp before now || fail "probes of another version were changed"
	[ "$(python3 version.py "$PID" "$version")" = 999 ] || fail "the areas were changed"
}

F=$FIXTURES/busy
defs=(-e "p:b/step $F:step a=$ARG1 s=+0($ARG2):string" -e "r:b/ret $F:step \$retval")
start busy "${BUSY:-4}"
text_of "$PID" "$F" clean
trace -p "$PID" "${defs[@]}"
wait_for out.txt ' ret: '
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
text_of "$PID" "$F" left
cmp -s clean left && fail "no breakpoint was left: nothing is shown by this"
version=$(python3 version.py "$PID" 999)
[ "$version" != none ] || fail "no area of ours is found"
not_touched
trace -p "$PID" "${defs[@]}"
trace_stop
text_of "$PID" "$F" now
cmp clean now || fail "the code is not what it was"
go
finish

[ "$MODE" = auto ] && [ -z "${UBP_STAY:-}" ] || exit 0
# One that lives, and has let go of the process.
defs=(-e "p:b/step $F:step a=$ARG1" -e "r:b/ret $F:step \$retval")
start busy "${BUSY:-4}"
"$UPROBE" -o /dev/null --ready-fd 3 -p "$PID" "${defs[@]}" 3> ready 2> let_go.err &
first=$!
eventually test -s ready
eventually is_let_go "$PID"
python3 version.py "$PID" 999 > /dev/null
not_touched
kill -INT "$first"
wait "$first" || fail "the first one ended with $?: $(cat let_go.err)"
go
finish
