# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Static probes of what Debian ships, and of fixtures: those that readelf -n tells of, in its order, with
# the same arguments and semaphores.
. "${0%/*}/lib.bash"
use_usdt
have readelf

# A line for each: provider, name, location, base, semaphore, arguments; tabs between.
by_readelf() {
	LC_ALL=C readelf -n "$1" 2> /dev/null | awk -v OFS='\t' '
		/^ *Provider: / { sub(/^ *Provider: /, ""); provider = $0 }
		/^ *Name: / { sub(/^ *Name: /, ""); name = $0 }
		/^ *Location: / { gsub(/,/, ""); places = $2 OFS $4 OFS $6 }
		/^ *Arguments: ?/ {
			sub(/^ *Arguments: ?/, "")
			print provider, name, places, $0
		}'
}
by_usdt() {
	"$UPROBE" -L "$1" > listed || return 1
	awk -v OFS='\t' '
		function put() { if (name) print name, places, args; name = args = "" }
		/^[^ ]/ { put(); name = $1; sub(/:/, "\t", name) }
		/^    location / { gsub(/,/, ""); places = $2 OFS $4 OFS $6 }
		/^    arguments / { sub(/^    arguments /, ""); args = $0 }
		END { put() }' listed
}
n_files=0 n_notes=0 missing=0
compare() {
	local n
	by_readelf "$1" > want
	by_usdt "$1" > got || fail "$1"
	diff want got > differs || fail "$1: $(head -n 4 differs)"
	n=$(wc -l < want)
	[ "$n" -gt 0 ] || fail "$1: no notes"
	n_files=$((n_files + 1)) n_notes=$((n_notes + n))
}
# Nothing of it may be installed: then it counts as missing.
find_all() {
	local file found=
	for file; do
		[ -f "$file" ] || continue
		found=1
		compare "$file"
	done
	[ -n "$found" ] || missing=$((missing + 1))
}
compare "$FIXTURES/usdt_forms"
compare "$FIXTURES/usdt_cpp"
libs=/usr/lib/$(gcc -print-multiarch 2> /dev/null)
find_all /usr/lib/postgresql/*/bin/postgres
find_all /usr/lib/jvm/*/lib/server/libjvm.so
find_all "$libs"/libruby-*.so.?.?.?
find_all /usr/bin/php8.2
find_all /usr/bin/python3.11
find_all "$libs"/libstdc++.so.6
find_all "$libs"/libvirt.so.0
find_all /usr/sbin/libvirtd
find_all "$libs"/sssd/libsss_ldap_common.so
find_all "$libs"/libguestfs.so.0
find_all /usr/lib/gcc/*/*/cc1
echo "$n_files files, $n_notes notes; $missing not installed"
