#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# page-deps.sh FOLDER: have npm fetch what the page of --html is bundled from, and what tests it: exactly what the lock says.
# Nothing of it is needed for the rest, so where it cannot be had this says so and that is all.
if [ -e "$1/node_modules/.package-lock.json" ] && [ ! "$1/package-lock.json" -nt "$1/node_modules/.package-lock.json" ]; then
	exit 0
fi
if ! command -v npm > /dev/null; then
	echo "npm is not there: ubp-report will have no --html" >&2
	exit 0
fi
if npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund --loglevel=error; then
	touch "$1/node_modules/.package-lock.json"
else
	echo "npm could not fetch the packages of $1: ubp-report will have no --html" >&2
fi
