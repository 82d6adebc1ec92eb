#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# page.sh SOURCES OUT: bundle the page of --html. Where node or its packages are missing the page is empty, and --html says so.
mkdir -p "$2"
if [ -e "$1/node_modules/.package-lock.json" ] && command -v node > /dev/null; then
	exec node "$1/build.mjs" "$(cd "$2" && pwd)"
fi
echo "  without npm's packages ubp-report has no --html: install npm, then make deps" >&2
: > "$2/page.head"
: > "$2/page.tail"
