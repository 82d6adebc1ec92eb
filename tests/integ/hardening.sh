# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# How the programs and the library are hardened, read off them: addresses that move, full RELRO, guarded stacks,
# checked buffers, probed frames, landing pads, little for each thread. static_build.sh and build_i386.sh look at theirs.
. "${0%/*}/lib.bash"
have readelf
have objdump
. "${0%/*}/hardened.bash"

for f in "$UPROBE" "$USDT" "$UBP_BENCH" "$UBP_BUILD"/libubp.so.*; do
	[ -e "$f" ] || continue # no ubp-bench on some machines
	linked_hard "$f"
	# Each thread of a program that is linked with the library has that on its stack, however small.
	n=$(awk '$1 == "TLS" { print $6 }' elf.txt)
	[ $((n)) -le 1024 ] || fail "$f has $((n)) bytes for each thread"
done
if grep -q -- '-fsanitize' "$UBP_BUILD/flags" || ! grep -qE -- ' -O([1-3sg]|$| )' "$UBP_BUILD/flags"; then
	skip "this build is sanitized or not optimised: its calls do not check buffers"
fi
CC=$(awk '{ print $1 }' "$UBP_BUILD/flags")
case $(uname -m) in
x86_64) compiled_hard "$UBP_BUILD/libengine.a" 'IBT, SHSTK' 'or[lq]? +\$0x0,(0x[0-9a-f]+)?\(%[er]sp\)|movq +\$0x0,\(%rsp\)' ;;
aarch64) compiled_hard "$UBP_BUILD/libengine.a" 'BTI, PAC' '' ;;
*) skip "nobody has said what marks objects have on $(uname -m)" ;;
esac
type -P "$CC" > /dev/null || skip "there is no $CC here, which this was built with: neither the programs' marks nor the level of checks are known"
if [ "$(uname -m)" = x86_64 ]; then
	programs=("$UPROBE" "$USDT")
	[ ! -e "$UBP_BENCH" ] || programs+=("$UBP_BENCH")
	marked_hard "$CC" "${programs[@]}"
	fortified "$CC" "$UBP_BUILD/libengine.a" 'mov +\$0x([0-9]+),%edx'
else
	fortified "$CC" "$UBP_BUILD/libengine.a" 'mov[[:space:]]+w2, #0x([0-9]+)'
fi
