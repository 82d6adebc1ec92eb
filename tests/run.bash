#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Run tests, one after the other, each in an empty folder of its own. A test
# ends with 0 = passed, 77 = skipped (its last line says why), else = failed.
# What a test prints is shown when it fails. Ends with "N passed, N failed".
set -u
passed=0 failed=0 skipped=0
names=()
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for test; do
	name=${test#"${UBP_BUILD:-$PWD/build}"/}; name=${name#"$PWD"/}
	case $test in /*) path=$test ;; *) path=$PWD/$test ;; esac
	case $test in
	*.sh) cmd=(bash "$path") ;;
	*.py) cmd=(python3 "$path") ;;
	*) cmd=("$path") ;;
	esac
	dir=$tmp/w; rm -rf "$dir"; mkdir "$dir"
	start=$SECONDS
	(cd "$dir" && exec timeout -k 10 "${TEST_TIMEOUT:-600}" "${cmd[@]}") > "$tmp/out" 2>&1 < /dev/null
	rc=$?
	took=$((SECONDS - start))
	if [ $rc = 0 ]; then
		passed=$((passed + 1)); printf 'PASS  %s (%d s)\n' "$name" "$took"
	elif [ $rc = 77 ]; then
		skipped=$((skipped + 1)); printf 'SKIP  %s: %s\n' "$name" "$(tail -n 1 "$tmp/out")"
	else
		failed=$((failed + 1)); names+=("$name")
		printf 'FAIL  %s (exit %d, %d s)\n' "$name" $rc "$took"
		tail -n "${TEST_TAIL:-80}" "$tmp/out" | sed 's/^/      /'
	fi
done
[ $failed = 0 ] || printf 'failed: %s\n' "${names[@]}"
[ $skipped = 0 ] || echo "NOTE: $skipped tests were skipped, see the SKIP lines above"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
