#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh SECONDS NAME...: run fuzzers, as many at a time as there are CPUs (FUZZ_JOBS). What
# they learn stays in $FUZZERS/corpus/NAME for the next run; what they find is in
# $FUZZERS/found, with the log. FUZZ_ARGS go to each.
set -u
[ -e "$FUZZERS/built" ] || { echo "clang has no fuzzers here (package libclang-rt-14-dev)"; exit 77; }
seconds=$1; shift
src=$UBP_SRC/tests/fuzz
mkdir -p "$FUZZERS/found" "$FUZZERS/corpus"

one() {
	local name=$1 log=$FUZZERS/found/$1.log dict=()
	mkdir -p "$FUZZERS/corpus/$name" "$src/corpus/$name"
	[ ! -e "$src/$name.dict" ] || dict=("-dict=$src/$name.dict")
	# shellcheck disable=SC2086 # options, split on purpose
	if "$FUZZERS/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
		-max_len=65536 -print_final_stats=1 "${dict[@]}" \
		-artifact_prefix="$FUZZERS/found/$name-" ${FUZZ_ARGS-} \
		"$FUZZERS/corpus/$name" "$src/corpus/$name" > "$log" 2>&1; then
		echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs," \
			"$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)," \
			"$(grep -o 'corp: [0-9]*' "$log" | tail -n 1)"
	else
		tail -n 60 "$log"
		echo "$name: FAILED, see $log"
		return 1
	fi
}
export -f one
export seconds src
printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'one {}'
