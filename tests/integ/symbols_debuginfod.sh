# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Symbols from a debuginfod server, asked if and only if DEBUGINFOD_URLS names one.
. "${0%/*}/lib.bash"
have debuginfod
have gcc
have python3

printf 'static int __attribute__((noinline)) hidden(int n) { __asm__(""); return n; }\nint main(int n) { return hidden(n); }\n' > prog.c
mkdir served
gcc -O1 -g -Wl,--build-id -o served/prog prog.c || fail "gcc"
id=$(readelf -n served/prog | awk '/Build ID/ { print $3 }')
strip -o bare served/prog
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export DEBUGINFOD_CACHE_PATH=$PWD/cache
url=http://127.0.0.1:$port
env -u DEBUGINFOD_URLS HOME="$PWD" debuginfod -p "$port" -d "$PWD/db" -F "$PWD/served" > server.txt 2>&1 &
SERVER=$!
PIDS+=("$SERVER")
served() {
	kill -0 "$SERVER" 2> /dev/null || { cat server.txt; skip "debuginfod does not run here"; }
	python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)' \
		"$url/buildid/$id/debuginfo" 2> /dev/null
}
eventually served

refused "no function 'hidden'" --check p:./bare:hidden
[ ! -e cache ] || fail "it was asked though nobody wanted that"
at=$(foffset_of served/prog hidden)
DEBUGINFOD_URLS=$url "$UPROBE" --check p:./bare:hidden > got 2> err.txt || fail "$(cat err.txt)"
[ "$(cat got)" = "p:uprobes/hidden ./bare:$(printf '0x%016x' "$at")" ] || fail "$(cat got)"
[ -e cache ] || fail "it came from elsewhere"
DEBUGINFOD_URLS=$url "$TOOLS/dwarf_functions" ./bare | grep -q ' hidden$' || fail "no DWARF"
# Nobody answers: as if there were none.
rm -r cache
DEBUGINFOD_URLS=http://127.0.0.1:1 refused "no function 'hidden'" --check p:./bare:hidden
