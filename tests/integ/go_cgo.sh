# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Go that calls C, and C that calls Go, on threads of both: entries and returns of both languages are what breakpoints tell, traced or let go of, and
# results are right, also where ubp is killed.
. "${0%/*}/lib.bash"
need_arch x86_64
have go
have gcc

cp -r "$UBP_SRC/fixtures/go_cgo" cgo || fail "cp"
export GOCACHE=$UBP_BUILD/go-cache GO111MODULE=off HOME=$PWD CGO_ENABLED=1
(cd cgo && command go build -o ../prog) > build.txt 2>&1 || fail "cannot build: $(tail -n 3 build.txt)"

C=()
for name in c_add c_calls_back c_thread_calls_back; do
	C+=(-e "p:t/$name ./prog:$name n=%di:s32 m=%si:s32" -e "r:t/${name}_r ./prog:$name r=\$retval:s32")
done
GO=()
for name in double goBack deep; do GO+=(-e "p:t/go_$name ./prog:main.$name n=%ax:s32"); done
RETURNS=()
ENTRIES=()
for name in c_calls_back c_thread_calls_back; do ENTRIES+=(-e "p:t/$name ./prog:$name"); done
for name in double goBack; do RETURNS+=(-e "r:t/go_${name}_r ./prog:main.$name r=%ax:s32"); done

# --- each event, with its values
N=20
for mode in auto trap; do
	"$UPROBE" --lossless --mode $mode -o out.txt "${C[@]}" "${GO[@]}" "${RETURNS[@]}" -- ./prog $N > stdout.txt 2> err.txt || fail "$mode: ended with $?"
	[ "$(cat stdout.txt)" = "bad 0" ] || fail "$mode: it says '$(cat stdout.txt)'"
	# Functions of Go begin again when their stack has grown, or where they are preempted: these are hits as well.
	for name in double goBack; do
		[ "$(count " go_$name: ")" -ge "$(count " go_${name}_r: ")" ] || fail "$mode: entries of $name are missing"
	done
	# %si is an argument of c_add() alone.
	events | grep -v ' go_[a-zA-Z]*: ' | sed -E -e 's/^.*[0-9]: ([a-zA-Z_]*): \([^)]*\)/\1/' -e '/^c_(calls|thread)/s/ m=.*//' > $mode.told
done
cmp trap.told auto.told || fail "not the same: $(diff trap.told auto.told | head -n 4)"
# A round calls double(), and goBack() twice, which does.
for what in "$((3 * N)) c_add n=" "$((3 * N)) c_add_r r=" "$((2 * N)) c_calls_back n=" "$((2 * N)) c_calls_back_r r=" "$N c_thread_calls_back_r r=" \
	"$((3 * N)) go_double_r r=" "$((2 * N)) go_goBack_r r=" '3 c_calls_back_r r=39'; do
	n=$(grep -c "^${what#* }" auto.told)
	[ "${what#* }" = 'c_calls_back_r r=39' ] && want=2 || want=${what%% *}
	[ "$n" = "$want" ] || fail "$n of $want '${what#* }'"
done

# What C has does not have to look for room, as functions of Go do that do not check their stack.
"$UPROBE" --stats -o out.txt -e 'p:t/add ./prog:c_calls_back' -- ./prog 300 > stdout.txt 2> err.txt || fail "ended with $?"
grep -q ' t/add hits=600 .* jumps=1 ' err.txt || fail "c_calls_back is no jump: $(grep ' t/add ' err.txt)"
! grep -q ' t/add .*stops=.*detour:[0-9][0-9]' err.txt || fail "c_calls_back stops: $(grep ' t/add ' err.txt)"

# --- under load, traced and let go of; ubp comes, goes and is killed
start "$PWD/prog" load
for ((i = 0; i < 4; i++)); do
	if [ $((i % 2)) = 0 ]; then
		# Go makes processes by itself, and returns are caught at instructions. A goroutine may be preempted where a jump would stand.
		trace --no-follow --stats -o events.txt "${ENTRIES[@]}" -p "$PID"
		[ -n "${UBP_STAY:-}" ] || eventually is_let_go "$PID"
	else
		trace --stay -o events.txt "${C[@]}" "${GO[@]}" "${RETURNS[@]}" -p "$PID"
	fi
	# What comes from now on.
	n=$(wc -l < events.txt)
	for name in c_calls_back c_thread_calls_back; do
		timeout "$TIMEOUT" tail -n "+$((n + 1))" -F events.txt 2> /dev/null | grep -qm 1 " $name: " || fail "round $i: no $name"
	done
	if [ $i -lt 2 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	else
		trace_stop
	fi
	alive
done
go
finish
[ "$LAST" = "bad 0" ] || fail "it says '$LAST'"
