#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.bash TEST... [--beside TEST...]... [--then TEST...]...
# Run tests, one after the other, each in an empty folder of its own; those behind --beside at the
# same time as those before it, those behind --then when all before them have ended. Whoever has run its own
# tests helps with the last ones of those beside, so that no processor waits. A test
# ends with 0 = passed, 77 = skipped (its last line says why), else = failed.
# Each line tells how many of all tests have ended, and after which time; a terminal shows what runs.
# What a test prints is shown when it fails. It is then run once more, by itself, when all others have ended: one
# that passes then is unsteady, which is told by name, and is no failure of the whole. The last lines of each that
# failed are shown once more at the end. Ends with "N passed, N failed".
# A script may ask for more time than others by "# test-seconds: N" near its top, and by "# test-mounts" that what it mounts is seen by
# nobody else: programs that see a file system in user space are traced with more care.
set -u
tmp=$(mktemp -d) || exit 1
lanes=()
trap 'for pid in "${lanes[@]}"; do kill -- "-$pid" 2> /dev/null; done; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

seconds_of() {
	local asked=
	case $1 in *.sh | *.py) asked=$(sed -n '1,12s/^# test-seconds: *//p' "$1") ;; esac
	[ "${TEST_TIMEOUT:-600}" -ge "${asked:-0}" ] || { echo "$asked"; return; }
	echo "${TEST_TIMEOUT:-600}"
}
mounts() {
	case $1 in *.sh | *.py) sed -n '1,12p' "$1" | grep -qx '# test-mounts' && unshare -m true 2> /dev/null ;; *) false ;; esac
}
# Where the run is: "12 of 630, 3:05". Those that are run again come on top.
all=0
for word; do case $word in --*) ;; *) all=$((all + 1)) ;; esac; done
so_far() { printf '%d of %d, %d:%02d' "$(cat "$tmp"/*/ends 2> /dev/null | wc -l)" $all $((SECONDS / 60)) $((SECONDS % 60)); }
# On a terminal the last line is what was begun last.
clear=
[ ! -t 1 ] || clear=$'\r\e[K'

# one_test TEST DIR: for DIR/ends a word and the name, for people a line or more.
one_test() {
	local test=$1 dir=$2 name path cmd start=$SECONDS rc took end cpu TIMEFORMAT='%U + %S'
	name=${test#"${UBP_BUILD:-$PWD/build}"/}; name=${name#"$PWD"/}
	case $test in /*) path=$test ;; *) path=$PWD/$test ;; esac
	case $test in
	*.sh) cmd=(bash "$path") ;;
	*.py) cmd=(python3 "$path") ;;
	*) cmd=("$path") ;;
	esac
	! mounts "$path" || cmd=(unshare -m "${cmd[@]}")
	[ -z "$clear" ] || printf '%s[%s] %s' "$clear" "$(so_far)" "$name"
	rm -rf "$dir/w"; mkdir -p "$dir/w"
	{
		time {
			(cd "$dir/w" && exec timeout -k 10 "$(seconds_of "$path")" "${cmd[@]}") > "$dir/out" 2>&1 < /dev/null
		}
	} 2> "$dir/cpu"
	rc=$?
	took=$((SECONDS - start))
	read -r cpu < "$dir/cpu"
	case $rc in
	0) end=passed ;;
	77) end=skipped ;;
	*) end=failed ;;
	esac
	echo "$end $name" >> "$dir/ends"
	printf %s "$clear"
	case $end in
	passed) printf 'PASS  %s (%d s, %s of CPU) [%s]\n' "$name" "$took" "$cpu" "$(so_far)" ;;
	skipped) printf 'SKIP  %s: %s [%s]\n' "$name" "$(tail -n 1 "$dir/out")" "$(so_far)" ;;
	failed)
		{
			printf 'FAIL  %s (exit %d, %d s) [%s]\n' "$name" $rc "$took" "$(so_far)"
			tail -n "${TEST_TAIL:-80}" "$dir/out" | sed 's/^/      /'
		} > "$dir/told"
		cat "$dir/told"
		echo "$path" >> "$dir/failed"
		tail -n 4 "$dir/out" | cut -c 1-300 | sed 's/^/      /' >> "$tmp/why/${name//\//:}"
		;;
	esac
}
# lane DIR TEST...: those that nobody else has begun.
lane() {
	local dir=$1 test
	shift
	for test; do
		mkdir "$tmp/begun/${test//\//:}" 2> /dev/null || continue
		one_test "$test" "$dir"
	done
}
# help_others DIR: the same with those of all lanes beside, from the last one on.
help_others() {
	local dir=$1 test last=()
	while read -r test; do last=("$test" "${last[@]}"); done < "$tmp/others"
	lane "$dir" "${last[@]}"
}
# The tests that were read so far: behind all others, or while the next are run. Job control lets
# them have SIGINT, which is ignored by what is simply started with "&".
tests=() n=0
mkdir "$tmp/begun" "$tmp/why"
: > "$tmp/others"
# Who traces every process of a fixture must not meet those of another test: the ones beside have copies.
own=
own_fixtures() {
	[ -d "${FIXTURES:-}" ] || return 0
	own=$FIXTURES-beside$n
	rm -rf "$own" && cp -a "$FIXTURES" "$own"
}
begin() {
	[ ${#tests[@]} != 0 ] || return 0
	n=$((n + 1))
	mkdir "$tmp/$n"
	if [ "$1" = beside ]; then
		own_fixtures
		printf '%s\n' "${tests[@]}" >> "$tmp/others"
		set -m
		{
			export FIXTURES=${own:-}
			lane "$tmp/$n" "${tests[@]}"
			help_others "$tmp/$n"
		} &
		lanes+=($!)
		set +m
	else
		lane "$tmp/$n" "${tests[@]}"
	fi
	tests=()
}
end_all() {
	begin here
	mkdir -p "$tmp/help$n"
	help_others "$tmp/help$n"
	wait
	: > "$tmp/others"
	lanes=()
}
for word; do
	case $word in
	--beside) begin beside ;;
	--then) end_all ;;
	*) tests+=("$word") ;;
	esac
done
end_all
cat "$tmp"/*/ends > "$tmp/ends" 2> /dev/null
cat "$tmp"/*/failed > "$tmp/failed" 2> /dev/null
# Many that fail have a cause in common: they stay what they are.
if [ -s "$tmp/failed" ] && [ "$(wc -l < "$tmp/failed")" -le "${AGAIN:-8}" ]; then
	sed -i '/^failed /d' "$tmp/ends"
	while read -r test; do
		one_test "$test" "$tmp/again"
	done < "$tmp/failed"
	sed -i 's/^passed /unsteady /' "$tmp/again/ends"
	cat "$tmp/again/ends" >> "$tmp/ends"
fi
count() { grep -c "^$1 " "$tmp/ends"; }
grep -E '^(failed|unsteady) ' "$tmp/ends" | while read -r end name; do
	echo "$end: $name"
	cat "$tmp/why/${name//\//:}"
done
[ "$(count skipped)" = 0 ] || echo "NOTE: $(count skipped) tests were skipped, see the SKIP lines above"
[ "$(count unsteady)" = 0 ] || echo "NOTE: $(count unsteady) passed only when run again, alone: the FAIL lines above say what was wrong"
echo "$(count passed) passed, $(count failed) failed, $(count unsteady) unsteady, $(count skipped) skipped"
[ "$(count failed)" = 0 ] && [ "$(count passed)" != 0 ]
