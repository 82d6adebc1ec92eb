# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# make install: a C and a C++ program find libubp by pkg-config, shared and static, beside names of their own that ubp's code has, too; what is
# exported is what the headers declare; what they promise holds (lib/host.c); make uninstall leaves nothing.
. "${0%/*}/lib.bash"
have gcc
have make
have pkg-config
grep -q -- '-fsanitize' "$UBP_BUILD/flags" && skip "this build is sanitized: programs of others need its run time library first"

place=$PWD/place
# -o all: what is built already is what is installed.
made() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$UBP_SRC" -o all --no-print-directory B="$UBP_BUILD" PREFIX="$place" "$@" > make.txt 2>&1 ||
		fail "make $*: $(tail -n 5 make.txt)"
}
made install
for f in lib/libubp.a lib/libubp.so.1 lib/libubp.so lib/pkgconfig/ubp.pc include/ubp.h include/ubp_event.h share/man/man3/libubp.3 \
	share/man/man1/uprobe.1 bin/uprobe libexec/ubp/ubp-engine; do
	[ -s "$place/$f" ] || fail "$f is not installed"
done

# Its names: no more and no less than the headers declare, each by a version; and each in the manual.
for header in "$place"/include/*.h; do
	gcc -E -P -std=c99 "$header" | grep -oE '\bubp_[a-z_]+ ?\(' | tr -d ' ('
done | sort -u | grep -v "_fn$" > declared.txt
[ "$(wc -l < declared.txt)" -ge 100 ] || fail "only $(wc -l < declared.txt) functions are declared"
nm -D --defined-only "$place/lib/libubp.so.1" | awk '$2 != "A" { print $3 }' | sort > exported.txt
sed 's/$/@@UBP_1/' declared.txt | diff - exported.txt || fail "what is exported is not what is declared"
nm -g --defined-only "$place/lib/libubp.a" | awk 'NF == 3 { print $3 }' | sort | diff declared.txt - || fail "libubp.a has other names"
for name in $(cat declared.txt); do
	grep -q "$name" "$place/share/man/man3/libubp.3" || echo "$name"
done > untold.txt
[ ! -s untold.txt ] || fail "not in libubp.3: $(tr '\n' ' ' < untold.txt)"

export PKG_CONFIG_PATH=$place/lib/pkgconfig LD_LIBRARY_PATH=$place/lib
[ "$(pkg-config --modversion ubp)" = "$("$UPROBE" --version | awk '{ print $2 }')" ] || fail "ubp.pc has another version"
source=${0%/*}/lib/host.c
# shellcheck disable=SC2046,SC2086 # flags are words
build() {
	local program=$1 libs=$2
	shift 2
	"$@" -Wall -Wextra -Wpedantic -Werror -O1 $(pkg-config --cflags ubp) -o "$program" "$source" -x none $libs ||
		fail "$program does not build"
}
static="$place/lib/libubp.a $(pkg-config --static --libs ubp | sed 's/-lubp//')"
build shared_c "$(pkg-config --libs ubp)" gcc -std=gnu99
build static_c "$static" gcc -std=gnu99
programs="shared_c static_c"
if type -P g++ > /dev/null; then
	build shared_cxx "$(pkg-config --libs ubp)" g++ -std=c++17 -x c++
	programs+=" shared_cxx"
fi
for program in $programs; do
	# How soon events come is the same in all builds.
	[ "$program" != shared_c ] || set -- slow
	"./$program" "$@" > out.txt 2> err.txt || fail "$program: $(cat err.txt)"
	[ "$(tail -n 1 out.txt)" = "all of it holds" ] || fail "$program: $(cat out.txt)"
	set --
done
# With the engine that was installed, if that was not what was tried now.
[ -n "${UBP_ENGINE:-}" ] || {
	UBP_ENGINE=$place/libexec/ubp/ubp-engine ./shared_c > out.txt 2> err.txt || fail "by an engine: $(cat err.txt)"
	[ "$(tail -n 1 out.txt)" = "all of it holds" ] || fail "by an engine: $(cat out.txt)"
}

made uninstall
left=$(find "$place" ! -type d)
[ -z "$left" ] || fail "uninstall left $left"
