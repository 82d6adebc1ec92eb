# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Inside a fresh Debian 12, beside the packages and the pages.
set -u
export DEBIAN_FRONTEND=noninteractive
fail() { echo "FAIL: $*"; exit 1; }
apt() { apt-get -y -qq --no-install-recommends "$@" > log.txt 2>&1 || fail "apt-get $*: $(tail -n 5 log.txt)"; }
apt update
apt install ./ubp_*.deb
# What the pages are about: a compiler for one's own program, Python, a PostgreSQL, a JVM, jq.
apt install gcc g++ libc6-dev binutils systemtap-sdt-dev python3 postgresql openjdk-17-jre-headless jq procps
chmod 755 . /srv
mkdir /tmp/first && chmod 755 /tmp/first && cd /tmp/first || exit 1
UBP_PAGES=1 UBP_SRC=/srv/ubp UPROBE=/usr/bin/uprobe USDT=/usr/bin/usdt UBP_REPORT=/usr/bin/ubp-report python3 /srv/ubp/tests/integ/man_examples.py
