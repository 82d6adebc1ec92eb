# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --json: every line is an object, with the same values as the text.
. "${0%/*}/lib.bash"

F=$FIXTURES/strings
start strings
trace --json -p "$PID" -e "p:s/greet $F:greet s=+0($ARG1):string n=$ARG1 a=+0($ARG1):u8[2]" \
	-e "r:s/ret $F:greet s=+0(\$retval):string"
go
finish
trace_done
python3 - "$PID" <<'PY' || fail "the JSON is not right"
import json, sys
with open("out.txt", encoding="utf-8") as f:
    events = [json.loads(line) for line in f]
text = json.dumps(events, ensure_ascii=False)
assert len(events) == 14, len(events)
for want in ("hello, world", 'quote \\" backslash \\\\ tab \\t', "two\\nlines", "greet", sys.argv[1]):
    assert want in text, want
for e in events:
    assert isinstance(e, dict)
PY

# A command's output does not stand between the events, not even half a line of it; in a file of their own they leave it where it was.
say='printf "half a line"; echo "{ no JSON"; test -n "$HOME"; printf "the other half"'
"$UPROBE" --json 'p:j/getenv libc:getenv' -- sh -c "$say; ls / > /dev/null; $say" > out.txt 2> err.txt || fail "exit status $?"
python3 -c 'import json, sys
events = [json.loads(line) for line in open("out.txt", encoding="utf-8")]
assert len(events) > 2 and all(e["event"] == "getenv" for e in events), len(events)' || fail "the JSON is mixed with the command's output"
[ "$(grep -o 'half a line' err.txt | wc -l)" = 2 ] || fail "the command's output is lost: $(cat err.txt)"
"$UPROBE" --json -o events.json 'p:j/getenv libc:getenv' -- sh -c "$say" > out.txt 2> err.txt || fail "-o: exit status $?"
[ "$(cat out.txt)" = $'half a line{ no JSON\nthe other half' ] && [ ! -s err.txt ] || fail "-o: $(cat out.txt err.txt)"
