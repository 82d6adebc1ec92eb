#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The public headers, engine/ubp*.h, are all that a caller needs: each compiles by itself, as C99 and as C++, in a
# folder where nothing else of the project is. They include each other and the C library's.
CC=${CC:-gcc} CXX=${CXX:-g++} rc=0
say() { echo "$*" >&2; rc=1; }
warnings='-Wall -Wextra -Wpedantic -Werror'
for h in engine/*.h; do
	case $h in engine/ubp.h | engine/ubp_*.h) ;; *) say "$h: public headers are named ubp_*.h" ;; esac
	if grep -nE '^ *# *include' "$h" |
		grep -vE '^[0-9]+:#include (<(std(bool|def|int)|sys/types)\.h>|"ubp(_[a-z]+)?\.h")$'; then
		say "$h: a public header includes other public headers (\"ubp_...h\") and the C library's only"
	fi
	grep -q '^extern "C" {$' "$h" || say "$h: C++ needs extern \"C\""
done
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cp engine/*.h "$dir" || exit 1
for h in engine/*.h; do
	printf '#include "%s"\n#include "%s"\n' "${h##*/}" "${h##*/}" > "$dir/alone.c"
	# shellcheck disable=SC2086 # flags are words
	(cd "$dir" && $CC -std=c99 $warnings -fsyntax-only alone.c) || say "$h does not compile by itself"
	command -v "$CXX" > /dev/null || continue
	# shellcheck disable=SC2086
	(cd "$dir" && $CXX -std=c++11 $warnings -fsyntax-only -x c++ alone.c) || say "$h does not compile as C++"
done
exit $rc
