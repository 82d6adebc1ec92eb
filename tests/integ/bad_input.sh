# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Bad input: one message that says what is wrong, status 1, nothing planted, the
# target unharmed.
. "${0%/*}/lib.bash"

F=$FIXTURES/busy
NAME=busy start busy 1
text_of "$PID_busy" "$F" before

# The definition.
refused 'stpe.*step|did you mean.*step|step' -p "$PID_busy" -e "p:b/x $F:stpe"
refused 'stpe.*step|did you mean.*step|step' -p "$PID_busy" "p:$F:stpe"
refused 'no_such_file' -p "$PID_busy" -e "p:b/x /no_such_file:step"
refused 'no_such_program' "p:no_such_program:step"
refused 'Invalid register name' -p "$PID_busy" -e "p:b/x $F:step %rdi"
refused 'Invalid register name' -p "$PID_busy" -e "p:b/good $F:step $ARG1" -e "p:b/x $F:step %rdi"
printf 'p:b/good %s:step\np:b/bad %s:step +0(%s\n' "$F" "$F" $ARG1 > defs
refused 'brace is not closed' -p "$PID_busy" -f defs
refused 'no_such_defs' -p "$PID_busy" -f no_such_defs
"$UPROBE" -p "$PID_busy" -e "p:b/x $F:step a=%foo" > out.txt 2> err.txt
grep -qxF "  p:b/x $F:step a=%foo" err.txt || fail "the definition is not shown"
caret=$(grep -nE '^ +\^$' err.txt | sed 's/^[0-9]*://')
want="  p:b/x $F:step a=%foo"
[ "${#caret}" = $((${#want} - 3)) ] || fail "the caret is not under '%foo'"
refused 'ield not found|nosuch' -p "$PID_busy" -e "p:b/x $F:step" --filter 'nosuch == 1'

# The file.
echo "no ELF file, but text" > text
chmod +x text
: > empty
head -c 100 "$F" > cut_short
head -c 5000 "$F" > part
python3 - "$F" <<'PY'
import random, sys
data = bytearray(open(sys.argv[1], "rb").read())
random.seed(1)
for n in range(12):
    bad = bytearray(data)
    for _ in range(20 * (n + 1)):
        bad[random.randrange(64, 1000 if n % 2 else len(bad))] = random.randrange(256)
    open(f"corrupt{n}", "wb").write(bad)
huge = bytearray(data)
huge[40:48] = b"\xff" * 8  # e_shoff
open("huge", "wb").write(huge)
PY
refused 'not an ELF|no ELF' -e "p:b/x ./text:step"
refused 'not an ELF|no ELF|empty' -e "p:b/x ./empty:step"
for f in cut_short part huge; do refused "$f" -e "p:b/x ./$f:step"; done
refused 'egular file' -e "p:b/x /dev/null:0x10"
refused 'egular file|irectory' -e "p:b/x /tmp:0x10"
for f in corrupt*; do
	timeout "$TIMEOUT" "$UPROBE" --check -e "p:b/x ./$f:step" > out.txt 2> err.txt
	rc=$?
	[ $rc = 0 ] || [ $rc = 1 ] || fail "$f: status $rc"
	timeout "$TIMEOUT" "$UPROBE" -l "./$f" > out.txt 2> err.txt
	rc=$?
	[ $rc = 0 ] || [ $rc = 1 ] || fail "-l $f: status $rc"
done

# The place: middle of an instruction, outside of the code, outside of the file.
offset() { "$UPROBE" --check -e "p:b/x $F:$1" | sed -nE 's/.*:0x0*([0-9a-f]+).*/\1/p'; }
step=$((16#$(offset step)))
# The first instruction of two bytes or more: "ADDRESS BYTE BYTE ...", or "ADDRESS WORD"
objdump -d --disassemble=step "$F" | sed -nE 's/^ +([0-9a-f]+):\t(([0-9a-f]{2} )+|[0-9a-f]{8} ).*/\1 \2/p' > insns
base=$((16#$(awk '{ print $1; exit }' insns)))
long=$((16#$(awk 'NF > 2 || length($2) > 2 { print $1; exit }' insns)))
inside=$(printf '0x%x' $((step + long - base + 1)))
refused 'instruction' -p "$PID_busy" -e "p:b/x $F:$inside"
refused 'instruction' -p "$PID_busy" -e "p:b/x $F:step+$((long - base + 1))"
outside='execut|outside|not in'
[ "$(uname -m)" = x86_64 ] || outside='is in no function' # its first bytes lie in the segment of its code
refused "$outside" -p "$PID_busy" -e "p:b/x $F:0x10"
refused 'outside|beyond|past|not in' -p "$PID_busy" -e "p:b/x $F:0x7ffffff0"

# The process.
for pid in 4194300 999999999; do
	[ -d /proc/$pid ] || refused "$pid" -p $pid -e "p:b/x $F:step"
done
# A pid namespace of its own has no kernel threads: PF_KTHREAD in the flags, behind the name.
flags=$(sed -E 's/.*\) //' /proc/2/stat 2> /dev/null | cut -d ' ' -f 7)
if [ $((${flags:-0} & 0x200000)) != 0 ]; then
	refused 'kernel thread' -p 2 -e "p:b/x $F:step"
else
	echo "left out: process 2 is no kernel thread here"
fi
refused '[0-9]' -L 4194300 -e "p:b/x $F:step"
NAME=dead start zombie
refused 'zombie|ended' -p "$WORD" -e "p:b/x $FIXTURES/zombie:main"
go dead
finish dead

text_of "$PID_busy" "$F" after
cmp before after || fail "its code is not what it was"
untraced "$PID_busy"
go busy
finish busy

# Words that are no options, or not enough of them: usage, status 2.
for args in --no-such-option "-p" "-p 1,,2 -e p:b/x" "-d x p:bash:readline" "--mode fast p:bash:readline"; do
	# shellcheck disable=SC2086
	"$UPROBE" $args > out.txt 2> err.txt
	[ $? = 2 ] || fail "uprobe $args: not status 2"
	[ ! -s out.txt ] || fail "uprobe $args: writes to stdout"
done
