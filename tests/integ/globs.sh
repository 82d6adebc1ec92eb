# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Patterns: one probe for each function, each address once; what can't be probed is
# left out with a word about it.
. "${0%/*}/lib.bash"

B=$(command -v bash)
names() { sed -E 's,^.:[^/]*/([^ ]*) .*,\1,' "$1" | LC_ALL=C sort; }
offsets() { sed -E 's,.*:(0x[0-9a-f]{16}).*,\1,' "$1"; }

# bash's read*, against nm: aliases are one.
nm -D --defined-only "$B" | awk '$2 ~ /[TtWw]/ && $3 ~ /^read/ { print $1 }' | sort -u > want
[ "$(wc -l < want)" -gt 5 ] || fail "nm finds no read* in bash"
"$UPROBE" --check -e 'p:bash:read*' > list 2> err.txt || fail "read*: $?"
[ "$(wc -l < list)" = "$(wc -l < want)" ] || fail "read*: $(wc -l < list), not $(wc -l < want)"
[ -z "$(offsets list | sort | uniq -d)" ] || fail "an address comes twice"
grep -qvE '^p:uprobes/_?read[a-z0-9_]* ' list && fail "other names: $(head -n 3 list)"
grep -q '^p:uprobes/readline ' list || fail "no readline"
# What is listed is a definition, and comes out the same.
"$UPROBE" --check --strict -f list | diff -u list - || fail "the listing is not taken back"

# libc's mem*: the indirect ones by what was chosen here, the same as by name.
libc=$(ldd "$B" | awk '/libc\.so/ { print $3; exit }')
"$UPROBE" --check "p:$libc:mem*" > list 2> err.txt || fail "mem*: $?"
nm -D --defined-only "$libc" | awk '$2 ~ /[TWi]/ && $3 ~ /^mem/ { sub("@.*", "", $3); print $3 }' |
	LC_ALL=C sort -u > want
for name in memchr memccpy memmem; do
	grep -qx $name want || continue
	"$UPROBE" --check "p:$libc:$name" > one || fail "$name"
	grep -qxFf one list || fail "mem*: $name is $(cat one) by name"
done
names list | sed 's/_[0-9]*$//' | LC_ALL=C sort -u | LC_ALL=C comm -23 - want > other
[ ! -s other ] || fail "mem*: $(cat other)"

# NAME is put in front of what is found; args are everybody's, and so is %return.
"$UPROBE" --check -e "p:my/ev bash:readline a=$ARG1" > list || fail "readline"
"$UPROBE" --check -e 'r:my/ev bash:readlin[e] v=$retval' > list || fail "readlin[e]"
grep -qE '^r:my/ev_readline .* v=\$retval$' list || fail "$(cat list)"
"$UPROBE" --check 'bash:readl?ne%return' > list || fail "readl?ne"
grep -qE '^r:uprobes/readline ' list || fail "$(cat list)"

# What a definition could not name.
"$UPROBE" --check "r:$libc:*" > list 2> err.txt || fail "all of libc: $?"
grep -q ':0x[0-9a-f]* *$' list || fail "no listing of libc"
if nm -D --defined-only "$libc" | grep -q ' _setjmp'; then
	grep -q '^p:uprobes/_setjmp' list && fail "a return of setjmp()"
	[ "$(wc -l < err.txt)" = 1 ] || fail "not one line: $(cat err.txt)"
	grep -qE '^uprobe: warning: [0-9]+ of the [0-9]+ functions of .* are left out: .*setjmp' err.txt ||
		fail "$(cat err.txt)"
	refused 'none of the [0-9]+ functions .* can be probed' --check "r:$libc:_setjm*"
fi
refused "no function of .* matches 'no_such_\*'" --check -e 'p:bash:no_such_*'
grep -qxE '  p:bash:no_such_\*' err.txt && grep -qxE ' {9}\^' err.txt || fail "caret: $(cat err.txt)"
refused 'An offset cannot be added' --check -e 'p:bash:read*+4'
refused 'No offset' --check --strict -e "p:g/e $B:read*"

# They are planted, and hit.
start args_int
trace -p "$PID" -e "p:g/x $FIXTURES/args_int:*re[a] w=$ARG1:s32"
go
trace_done
finish
expect_count "$(count . out.txt)" 'x_area: '
[ "$(count x_area)" -gt 0 ] || fail "no hit"
