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
