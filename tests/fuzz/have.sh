#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Can this compiler ($1) build fuzzers? Says nothing.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
printf '%s\n' '#include <stddef.h>' 'int LLVMFuzzerTestOneInput(const char *d, size_t n);' \
    'int LLVMFuzzerTestOneInput(const char *d, size_t n) { return d && n && 0; }' > "$dir/f.c"
"$1" -fsanitize=fuzzer,address,undefined -o "$dir/f" "$dir/f.c" > "$dir/log" 2>&1
