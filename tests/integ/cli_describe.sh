# SPDX-License-Identifier: LGPL-2.1-or-later
# What only prints: -l, -v, --check, --explain. All end with 0 and run no command.
. "${0%/*}/lib.bash"
hello=$FIXTURES/hello

"$UPROBE" -l "$hello" > out.txt || fail "-l: exit status $?"
grep -qx greet out.txt && grep -qx main out.txt || fail "functions are missing"
LC_ALL=C sort -u out.txt | cmp - out.txt || fail "not sorted, or twice"
"$UPROBE" -F -l bash > out.txt || fail "-l bash: exit status $?"
grep -qx readline out.txt || fail "bash has no readline"

# The offset of greet as nm and the program headers have it.
elf=$(nm "$hello" | sed -n 's/^0*\([0-9a-f]*\) T greet$/\1/p')
offset=$(readelf -lW "$hello" | while read -r type off vaddr _ size _; do
	[ "$type" = LOAD ] || continue
	if ((0x$elf >= vaddr && 0x$elf < vaddr + size)); then
		printf '%016x\n' $((0x$elf - vaddr + off))
	fi
done)
[ -n "$offset" ] || fail "cannot tell the offset of greet"

"$UPROBE" --check -e "p:g/in $hello:greet a=+0($ARG1):string b=$ARG2:s32" -e "r:out $hello:greet+0 \$retval" \
	-- touch ran > out.txt || fail "--check: exit status $?"
cat > want.txt << END
p:g/in $hello:0x$offset a=+0($ARG1):string b=$ARG2:s32
r:uprobes/out $hello:0x$offset arg1=\$retval
END
diff -u want.txt out.txt || fail "another listing"
# What --check prints is a definition that comes out the same.
"$UPROBE" --check --strict -f out.txt | diff -u out.txt - || fail "the listing is not taken back"
"$UPROBE" --check -f - < out.txt | diff -u out.txt - || fail "nor from standard input"

"$UPROBE" -v "p:$hello:greet a=$ARG1:u8 s=+0($ARG1):string" > out.txt || fail "-v: exit status $?"
grep -qx 'name: greet' out.txt && grep -qx '	field:u8 a;	offset:16;	size:1;	signed:0;' out.txt &&
	grep -q '^print fmt: "(%lx) a=%u s=' out.txt || fail "another format"

"$UPROBE" --explain "p:$hello:greet" -- touch ran > out.txt 2> err.txt || fail "--explain: exit status $?"
[ "$(wc -l < out.txt)" = 1 ] || fail "--explain is one line for each probe"
[ ! -e ran ] || fail "the command was run"

# More than a pipe holds, to a reader that takes its time.
seq 2000 | sed "s,.*,p:many/e& $hello:0x$offset," > many.txt
mkfifo slow.fifo
"$UPROBE" --check -f many.txt > slow.fifo &
exec 7< slow.fifo
read -r first <&7
wc -l <&7 > lines.txt
exec 7<&-
wait $! || fail "--check to a slow reader: exit status $?"
[ "$(cat lines.txt)" = 1999 ] || fail "--check to a slow reader: $(cat lines.txt) more lines"

"$UPROBE" -l libc | head -n 1 > out.txt
[ "${PIPESTATUS[0]}" = 0 ] || fail "-l with a reader that goes: status ${PIPESTATUS[0]}"
exit 0
