# SPDX-License-Identifier: LGPL-2.1-or-later
# Definitions that cannot be traced: exit status 1, one message, the caret under the
# mistake, nothing planted. The order of definitions does not matter.
. "${0%/*}/lib.bash"

failed() {
	local status
	timeout 20 "$UPROBE" "$@" > out.txt 2> err.txt < /dev/null; status=$?
	[ $status = 1 ] || fail "uprobe $*: exit status $status, not 1"
	[ ! -s out.txt ] || fail "uprobe $*: something on standard output"
	[ "$(grep -c '^uprobe: error: ' err.txt)" = 1 ] || fail "uprobe $*: not one error"
}

failed -e 'p:g/e  /bin/bash:0x100	%foo'
cat > want.txt << 'END'
uprobe: error: Invalid register name
  p:g/e /bin/bash:0x100 %foo
                        ^
END
sed 3q err.txt | diff -u want.txt - || fail "the message with a caret is another"
sed 1,3d err.txt | grep -c . | grep -qx 1 && grep -q '^  hint: registers are: %' err.txt || fail "not one hint"

failed --check -e "p:g/e $FIXTURES/hello:greet" -e "p:g/f /bin/bash:0x100 a=$ARG1:u23"
grep -q '^uprobe: error: Unknown type is specified$' err.txt || fail "the second definition is to blame"

# From a file: its name and the line are told.
printf '# nothing\n\np:g/e /bin/bash:0x100 %%foo\n' > probes.txt
failed -f probes.txt
grep -q '^uprobe: error: probes.txt:3: Invalid register name$' err.txt || fail "no file name and line"
printf '# nothing\n\n\np:g/f /bin/bash:no_such_function\n' > more.txt
failed -f more.txt
grep -q '^uprobe: error: more.txt:4: .*no_such_function' err.txt || fail "not the line of a symbol"
failed -f - < probes.txt
failed -f no-such-file
grep -q '^uprobe: error: no-such-file: No such file or directory$' err.txt || fail "no file name"
: > empty.txt
failed -f empty.txt
grep -q '^uprobe: error: no definition is given$' err.txt || fail "nothing to trace is an error"

failed p:no-such-program-anywhere:main
failed "p:$FIXTURES/hello:no_such_function"
grep -q no_such_function err.txt || fail "the name is not told"
failed -e "p:g/e $FIXTURES/hello:greet" --filter 'nofield == 1'
failed -p 2147483647 "p:$FIXTURES/hello:greet"
failed -o /no/such/folder/out "p:$FIXTURES/hello:greet"
grep -q '^uprobe: error: /no/such/folder/out: No such file or directory$' err.txt || fail "no file name"
failed -l no-such-program-anywhere

# Closed descriptors: said in words, and nothing of ours is written in their place.
timeout 20 "$UPROBE" --check -e "p:g/e $FIXTURES/hello:greet" >&- 2> err.txt
[ $? = 1 ] || fail "status with a closed standard output"
grep -q '^uprobe: error: standard output is closed' err.txt || fail "closed standard output: $(cat err.txt)"
timeout 20 "$UPROBE" --check -o file.txt -e "p:g/e $FIXTURES/hello:greet" <&- >&- 2>&- || fail "all closed"
[ "$(grep -c "^p:g/e " file.txt)" = 1 ] && [ "$(wc -l < file.txt)" = 1 ] || fail "the file has more than it should"

# A wrong definition leaves an existing output file alone.
echo precious > kept.txt
failed -o kept.txt "p:$FIXTURES/hello:no_such_function"
failed -o kept.txt "p:$FIXTURES/hello:greet" -- ./no-such-command
failed -o kept.txt -p 2147483647 "p:$FIXTURES/hello:greet"
failed -o kept.txt -l no-such-program-anywhere
[ "$(cat kept.txt)" = precious ] || fail "the output file was emptied for nothing"

# Nor is a command emptied that is its own output file: it cannot be run while that is open for writing.
cp "$FIXTURES/hello" own
failed -o own p:./own:greet -- ./own
grep -q '^uprobe: error: ./own: Text file busy$' err.txt || fail "$(cat err.txt)"
cmp -s own "$FIXTURES/hello" || fail "the program to trace was emptied"

# What works leaves nothing of what was there, whatever it writes.
seq 1000 > old.txt
timeout 20 "$UPROBE" -o old.txt -l "$FIXTURES/hello" 'greet' || fail "a list into a file"
[ "$(cat old.txt)" = greet ] || fail "the list has more than it should"
seq 1000 > old.txt
timeout 20 "$UPROBE" -o old.txt "p:$FIXTURES/hello:greet" -- true || fail "a command that does not come by"
[ ! -s old.txt ] || fail "an old trace is kept"
exit 0
