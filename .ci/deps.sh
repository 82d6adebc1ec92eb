#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Install those of the named Debian packages that are missing.
look() {
	missing=
	for p; do
		dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
	done
	[ -n "$missing" ] || exit 0
}
look "$@"
if [ "$(id -u)" != 0 ]; then
	echo "missing packages, install them as root:$missing" >&2
	exit 1
fi
# Tests that run beside each other may want some at the same time, and apt waits for nobody.
exec 9< /var/lib/dpkg && flock 9
look "$@"
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the list is split on purpose
apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing > /dev/null
