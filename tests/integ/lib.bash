# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Helpers for integration tests. Sourced; needs $UPROBE and $FIXTURES. A test
# runs in an empty folder of its own. It ends with 0 = pass, 77 = skip (the last
# line says why), anything else = fail. Nothing here sleeps: fixtures say when
# they are ready, uprobe says when it is (--ready-fd).

set -u
: "${UPROBE:?}" "${FIXTURES:?}"
TIMEOUT=${TIMEOUT:-60} # s for one wait, in case that nothing comes at all
PROGRAM=uprobe         # what messages begin with
PIDS=()                # what is to be killed when the test ends early
UBP_PID=

# Where functions find their first arguments, as definitions say it; what functions may begin with, as
# ubp-bench names it, and what they begin with where branches may lead to them.
case $(uname -m) in
aarch64) ARGS=(%x0 %x1 %x2 %x3 %x4 %x5) FIRSTS=(push nop bti paciasp mov) LANDING=bti ;;
*) ARGS=(%di %si %dx %cx %r8 %r9) FIRSTS=(push nop nop5 endbr64 mov) LANDING=endbr64 ;;
esac
ARG1=${ARGS[0]} ARG2=${ARGS[1]} ARG3=${ARGS[2]} ARG4=${ARGS[3]} ARG5=${ARGS[4]} ARG6=${ARGS[5]}

# scaled N: where all is slow (UBP_SLOWER times) fewer of what only makes a test longer: one, at least.
scaled() { echo $((($1 - 1) / ${UBP_SLOWER:-1} + 1)); }
# slow: whether it is, and some of what is alike will do.
slow() { [ "${UBP_SLOWER:-1}" != 1 ]; }
# long: UBP_ALL=1 wants all of what is alike (make check-long), where some of it will do each day.
long() { [ -n "${UBP_ALL:-}" ]; }
# often N: how often something is done again that can go wrong at any moment: N times in the long form, else half as often.
often() { long && scaled "$1" || scaled $((($1 + 1) / 2)); }
# How ubp is built for one test: in two thirds of the time. Warnings that gcc makes of how values flow are wrong more often then.
QUICK='-O1 -g1 -Wno-maybe-uninitialized -Wno-format-truncation -Wno-array-bounds -Wno-stringop-overflow'

fail() {
	[ ! -s out.txt ] || { echo "--- out.txt"; head -n 20 out.txt; }
	[ ! -s err.txt ] || { echo "--- err.txt"; head -n 20 err.txt; }
	echo "FAIL: $*"
	exit 1
}
skip() { echo "$*" | tee "${WHY:-/dev/null}"; exit 77; }
have() { local tool; for tool; do type -P "$tool" > /dev/null || skip "needs $tool"; done; }
need_arch() { case " $* " in *" $(uname -m) "*) ;; *) skip "needs $*, this is $(uname -m)" ;; esac; }
# Whether programs may read their thread pointer by an instruction (x86-64: HWCAP2_FSGSBASE). Where not, detours look where C libraries keep it, and each hit of
# a thread that has none there, as those of Go, is a stop.
has_rdfsbase() { [ $(($(LD_SHOW_AUXV=1 /bin/true | sed -n 's/^AT_HWCAP2: *//p') & 2)) != 0 ]; }
# The number of the pid namespace that the kernel begins with is part of its interface.
in_first_pid_namespace() { [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; }
need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
# need_hold: uprobe can hold those who open files of the current folder.
need_hold() {
	local kind
	need_root
	have python3
	# FAN_CLASS_CONTENT, FAN_REPORT_TID
	python3 -c 'import ctypes; exit(ctypes.CDLL(None).fanotify_init(0x104, 0) < 0)' ||
		skip "needs permission events of fanotify"
	kind=$(findmnt -no FSTYPE -T .)
	case $kind in ext4 | xfs | btrfs | tmpfs | overlay | squashfs | f2fs) ;; *) skip "nobody is held on $kind" ;; esac
}

cleanup() {
	local pid
	# uprobe first, so that it does not see its targets die.
	for pid in $UBP_PID "${PIDS[@]}"; do
		kill -9 "$pid" 2> /dev/null
		[ "$pid" != "$UBP_PID" ] || wait "$pid" 2> /dev/null
	done
	# One may have to wait for another, which traces it.
	[ ${#PIDS[@]} = 0 ] || wait "${PIDS[@]}" 2> /dev/null
	:
}
trap cleanup EXIT

# start FIXTURE [ARG...]: run it up to its "ready" line. Sets PID, and WORD to what
# follows on that line (a child's pid). With NAME=x set before, PID_x and WORD_x too,
# and go, finish take that name, so that several can run at once.
start() {
	local name=${NAME:-fix} prog=$1 line=
	shift
	[ "${prog#/}" != "$prog" ] || prog=$FIXTURES/$prog
	mkfifo "$name.in" "$name.out" || fail "mkfifo"
	"$prog" "$@" < "$name.in" > "$name.out" 2> "$name.err" &
	PID=$!
	PIDS+=("$PID")
	exec {fd_in}> "$name.in" {fd_out}< "$name.out"
	rm "$name.in" "$name.out"
	eval "IN_$name=\$fd_in OUT_$name=\$fd_out PID_$name=\$PID"
	read -r -t "$TIMEOUT" line WORD <&"$fd_out" && [ "$line" = ready ] ||
		fail "$prog did not get ready: '$line' $(cat "$name.err")"
	eval "WORD_$name=\$WORD"
}
# go [NAME]: let it do its work.
go() { eval "echo go >&\$IN_${1:-fix}"; }
# finish [NAME]: wait for its good end. LAST is the last line it wrote.
finish() {
	local name=${1:-fix} rc
	eval "wait \$PID_$name"
	rc=$?
	eval "LAST=\$(timeout $((5 * ${UBP_SLOWER:-1})) tail -n 1 <&\$OUT_$name)"
	[ $rc = 0 ] || fail "fixture $name ended with $rc: $LAST $(cat "$name.err")"
}
alive() {
	kill -0 "${1:-$PID}" 2> /dev/null ||
		fail "target ${1:-$PID} is gone: $(tail -qn 3 -- *.err 2> /dev/null)"
}

# use_usdt: what follows runs usdt, where it says uprobe.
use_usdt() {
	PROGRAM=usdt
	[ -n "${MODE:-}" ] || UPROBE=${USDT:?}
}

# trace ARG...: run uprobe in the background until it has planted. Output in
# out.txt, messages in err.txt; sets UBP_PID.
trace() {
	local line=
	trace_start "$@"
	read -r -t "$TIMEOUT" line <&"$ready_fd" || :
	exec {ready_fd}<&-
	[ "$line" = ready ] && return
	wait "$UBP_PID"
	fail "uprobe $* did not get ready (ended with $?)"
}
# The same without waiting: for what may never get ready.
trace_start() {
	mkfifo ready.fifo || fail "mkfifo"
	"$UPROBE" --ready-fd 8 "$@" > out.txt 2> err.txt 8> ready.fifo &
	UBP_PID=$!
	exec {ready_fd}< ready.fifo
	rm ready.fifo
}
# trace_done [STATUS]: wait until uprobe ends by itself.
trace_done() {
	local rc
	timeout "$TIMEOUT" tail -s 0.05 --pid="$UBP_PID" -f /dev/null || fail "uprobe does not end"
	wait "$UBP_PID"
	rc=$?
	UBP_PID=
	[ $rc = "${1:-0}" ] || fail "uprobe ended with $rc, not ${1:-0}"
}
# trace_stop [SIGNAL]: end it as Ctrl-C does.
trace_stop() {
	kill -"${1:-INT}" "$UBP_PID" || fail "uprobe is gone already"
	trace_done 0
}

# in_modes MODE...: what follows in the script, once with each --mode (where it says none itself); where there
# are no jumps, or all is slow, one is enough, which is in UBP_MODES. What one skips does not keep the others
# from running: the whole is skipped at its end, with the last reason.
in_modes() {
	local rc why='' real=$UPROBE
	[ -z "${MODE:-}" ] || return 0
	# shellcheck disable=SC2086 # several
	[ -z "${UBP_MODES:-}" ] || set -- $UBP_MODES
	for MODE; do
		mkdir "$MODE" && cd "$MODE" || fail "mkdir"
		printf '#!/bin/sh\nexec %s --mode %s "$@"\n' "$real" "$MODE" > uprobe
		chmod 755 uprobe
		WHY=$PWD/why UPROBE=$PWD/uprobe MODE=$MODE bash "$0"
		rc=$?
		case $rc in
		0) ;;
		77) why="$(cat why) (in mode $MODE)" ;;
		*) echo "in mode $MODE"; exit $rc ;;
		esac
		cd ..
	done
	[ -z "$why" ] || skip "$why"
	exit 0
}

# The events in out.txt (or FILE): no banner, no blank lines, no header.
events() { grep -aE '^ *.{1,16}-[0-9]+ +\[[0-9]{3}\] ' "${1:-out.txt}" || :; }
count() { events "${2:-out.txt}" | grep -acE -- "${1:-.}" || :; }
expect_count() { # expect_count N REGEX
	local n
	n=$(count "$2")
	[ "$n" = "$1" ] || fail "$n events match '$2', not $1"
}

# last_stat NAME: a number in the last line of --stats that has it.
last_stat() { grep -oE "\<$1=[0-9]+" err.txt | tail -n 1 | grep -oE '[0-9]+$'; }

# Put placeholders for what differs from run to run.
mask() {
	sed -E -e 's/-[0-9]+ +\[[0-9]+\] [^ ]{5} +[0-9]+\.[0-9]{6}:/-PID [CPU] FLAGS TIME:/' \
	    -e 's/0x[0-9a-f]+/ADDR/g' "$1"
}
# same EXPECTED ACTUAL: equal after masking pids, cpu, time and addresses.
same() {
	events "$2" > "$2.events"
	mask "$2.events" | diff -u "$1" - || fail "unexpected events in $2"
}

# wait_for FILE REGEX: until a line of a growing file matches; no polling.
wait_for() {
	timeout "$TIMEOUT" tail -n +1 -F "$1" 2> /dev/null | grep -aqm 1 -E -- "$2" ||
		fail "'$2' did not come in $1"
}

# eventually COMMAND...: until it is true; for what tells nobody that it happened.
eventually() {
	local tries
	exec {never}<> <(:)
	for ((tries = TIMEOUT * 50; tries > 0; tries--)); do
		"$@" && break
		read -r -t 0.02 <&"$never"
	done
	exec {never}>&-
	[ $tries -gt 0 ] || fail "never: $*"
}
# is_jump PID ADDRESS: a jump stands there (x86), in place of a breakpoint.
is_jump() {
	python3 -c 'import os, sys
code = os.pread(os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY), 1, int(sys.argv[2], 16))
sys.exit(code[0] not in (0xe9, 0xeb))' "$1" "$2"
}
# tracer_of PID: the process that traces it, one of whose threads does. Nothing: nobody.
tracer_of() {
	awk '/^TracerPid:/ && $2 { print "/proc/" $2 "/status" }' "/proc/$1/task/"*/status | sort -u | xargs -r awk '/^Tgid:/ { print $2 }' | sort -u
}
traced() { grep -q '^TracerPid:.*[1-9]' "/proc/$1/status"; }

# refused REGEX ARG...: uprobe ARG... must fail with 1, with one line (and a
# caret's two) on stderr that matches, and print no event.
refused() {
	local want=$1 rc
	shift
	timeout "$TIMEOUT" "$UPROBE" "$@" > out.txt 2> err.txt < /dev/null
	rc=$?
	[ $rc = 1 ] || fail "uprobe $*: ended with $rc, not 1"
	grep -aqE -- "$want" err.txt || fail "uprobe $*: no message like '$want'"
	[ "$(grep -ac "^$PROGRAM: " err.txt)" = 1 ] || fail "$PROGRAM $*: not one message"
	[ "$(grep -acvE "^($PROGRAM: |  )" err.txt)" = 0 ] || fail "$PROGRAM $*: more than a message"
	[ -z "$(events)" ] || fail "uprobe $*: printed events"
}

# usage MESSAGE ARG...: a command line that makes no sense: exactly this message, where to
# find help, exit status 2, nothing on standard output.
usage() {
	local want=$1 status
	shift
	"$UPROBE" "$@" > out.txt 2> err.txt
	status=$?
	[ $status = 2 ] || fail "$PROGRAM $*: exit status $status, not 2"
	[ ! -s out.txt ] || fail "$PROGRAM $*: something on standard output"
	printf "$PROGRAM: error: %s\nTry '$PROGRAM --help'.\n" "$want" | diff -u - err.txt ||
		fail "$PROGRAM $*: another message"
}

# text_of PID FILE OUT: the bytes of FILE's executable mappings in PID's memory.
text_of() {
	local path range lo rest
	path=$(realpath "$2")
	: > "$3"
	while read -r range rest; do
		lo=$((16#${range%-*}))
		dd "if=/proc/$1/mem" iflag=skip_bytes,count_bytes bs=64k skip=$lo count=$((16#${range#*-} - lo)) \
			status=none >> "$3" || fail "cannot read the text of $1"
	done < <(awk -v "path=$path" '$2 ~ /x/ && substr($0, index($0, "/")) == path' "/proc/$1/maps")
	[ -s "$3" ] || fail "cannot read the text of $1"
}

# is_let_go PID, untraced PID: no thread of it is traced any more; the second fails otherwise.
is_let_go() { ! grep -hs '^TracerPid:' "/proc/$1/task/"*/status | grep -qv '[[:space:]]0$'; }
untraced() { is_let_go "$1" || fail "$1 is still traced"; }

# another_user: afterwards as_user COMMAND... runs it as an ordinary user, who can
# read $FIX (a copy of the fixtures named) and write to $DIR; $UPROBE_AS_USER is a program
# that runs uprobe so, and start "$START_AS_USER" FIXTURE... a target.
another_user() { # another_user FIXTURE...
	need_root
	have setpriv
	DIR=$(mktemp -d) || fail "mktemp"
	trap 'cleanup; rm -rf "$DIR"' EXIT
	FIX=$DIR/bin UPROBE_AS_USER=$DIR/uprobe_as_user START_AS_USER=$DIR/start_as_user
	mkdir "$FIX"
	cp "$UPROBE" "${@/#/$FIXTURES/}" "$FIX/"
	local id='setpriv --reuid 65534 --regid 65534 --clear-groups --'
	printf '#!/bin/sh\nexec %s %s "$@"\n' "$id" "$FIX/uprobe" > "$UPROBE_AS_USER"
	printf '#!/bin/sh\nexec %s "$@"\n' "$id" > "$START_AS_USER"
	chmod 755 "$DIR" "$FIX" "$DIR"/*_as_user
	chown 65534 "$DIR"
	"$UPROBE_AS_USER" --version > /dev/null 2>&1 || skip "another user cannot run programs here"
}
as_user() { "$START_AS_USER" "$@"; }
# How far yama lets an ordinary user go.
yama_scope() { cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0; }

# foffset_of FILE SYMBOL: where in the file its bytes stand.
foffset_of() {
	python3 - "$1" "$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }')" <<'PY'
import struct, sys
d = open(sys.argv[1], "rb").read()
vaddr = int(sys.argv[2], 16)
wide = d[4] == 2
phoff, = struct.unpack_from("<Q", d, 32) if wide else struct.unpack_from("<I", d, 28)
size, n = struct.unpack_from("<HH", d, 54 if wide else 42)
for i in range(n):
    if wide:
        kind, _, off, va, _, filesz = struct.unpack_from("<IIQQQQ", d, phoff + i * size)
    else:
        kind, off, va, _, filesz = struct.unpack_from("<IIIII", d, phoff + i * size)
    if kind == 1 and va <= vaddr < va + filesz:
        print(hex(vaddr - va + off))
PY
}
