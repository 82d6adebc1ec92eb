# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Random event triggers on Linux 6.12 and on ubp. A kernel that has CONFIG_HIST_TRIGGERS, which not all have, answers in an
# emulated machine what random texts ask (triggers/generate.py, record.py); ubp must answer the same, by its library with real
# hits (tests/unit/test_triggers.c) and by `uprobe --trigger` (tests/integ/corpus_triggers.py).
#   SEED=N COUNT=N   which rows, and how many: (1, 100), long: (from the clock, 2000)
#   KEEP=FOLDER      rows and answers are kept there
# test-seconds: 1200
. "${0%/*}/lib.bash"

if [ "${MACHINES:-short}" = short ]; then seed=${SEED:-1} count=${COUNT:-100}; else seed=${SEED:-$(date +%s)} count=${COUNT:-2000}; fi
kernel_of() { ls "$cache"/k/6.12/boot/vmlinuz-* 2> /dev/null | tail -n 1; }
# `make check` asks for rows that are always the same, and only where the kernel is there. The other forms fetch it.
[ "${MACHINES:-short}" = short ] && [ -z "${UBP_ALL:-}${SEED:-}" ] && may_fetch='' || may_fetch=yes
if [ -n "$may_fetch" ] && [ "$(uname -m)" = x86_64 ] && [ "$(id -u)" = 0 ] && ! { [ -n "$(kernel_of)" ] && command -v qemu-system-x86_64 > /dev/null; }; then
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS timeout 600 make -C "$top" --no-print-directory triggers-kernel > log 2>&1 || cat log
fi
kernel=$(kernel_of)
need_machine triggers-kernel "${kernel:-$cache/k/6.12/boot/vmlinuz-6.12}"

echo "random triggers: SEED=$seed COUNT=$count on $(basename "$kernel")"
work=${KEEP:-$PWD}
mkdir -p "$work"
python3 "$top/tests/machine/triggers/generate.py" "$seed" "$count" > "$work/rows.jsonl" || exit 1
gcc -O1 -fno-pie -no-pie -static -pthread -I"$top" -o "$work/rndtgt" "$top/tests/machine/triggers/rndtgt.c" || exit 1

# A text that ends the kernel is told, and left out. Grace periods of RCU are most of the time that it takes, so they are short.
: > "$work/answers.jsonl"
asked=0 ends=0
while :; do
	"$top/.ci/guest.sh" --modules "$cache/k/6.12" --append "rcupdate.rcu_expedited=1 maxcpus=1 tsc=reliable oops=panic" \
		--seconds $((300 + count)) "$kernel" bash "$top/tests/machine/inside/triggers.sh" \
		"$(realpath "$work/rows.jsonl")" "$(realpath "$work/rndtgt")" $asked > answers.txt 2> machine.txt
	rc=$?
	grep -a '^{.*}$' answers.txt > new.jsonl
	cat new.jsonl >> "$work/answers.jsonl"
	asked=$((asked + $(wc -l < new.jsonl)))
	grep -aqx 'the rows are done' answers.txt && break
	tail -n 30 machine.txt
	[ -s new.jsonl ] || { echo "the machine did not answer ($rc)"; exit 1; }
	echo "the machine ended ($rc) at row $seed-$asked, which is left out"
	asked=$((asked + 1)) ends=$((ends + 1))
	[ $ends -lt 5 ] || { echo "that often is too often"; exit 1; }
done
echo "$(wc -l < "$work/answers.jsonl") rows answered: $(grep -o '"errno": null' "$work/answers.jsonl" | wc -l) texts accepted," \
	"$(grep -o '"errno": "' "$work/answers.jsonl" | wc -l) refused; $(grep -c '{ [^"]*} hitcount' "$work/answers.jsonl") rows with entries"

bad=0
UBP_TRIGGERS=$work/answers.jsonl "$UBP_BUILD/tests/unit/test_triggers" > unit.txt 2>&1 || bad=1
[ $bad = 0 ] || head -c 20000 unit.txt
grep -a ' of .* rows$' unit.txt
UBP_TRIGGERS=$work/answers.jsonl python3 "$top/tests/integ/corpus_triggers.py" > command.txt 2>&1
rc=$?
head -c 20000 command.txt
[ $rc = 0 ] || [ $rc = 77 ] || bad=1
[ $bad = 0 ] || echo "SEED=$seed COUNT=$count shows that again"
exit $bad
