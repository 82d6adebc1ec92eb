#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Build an x86-64 Linux that has no uprobes, from Debian's source of 6.1, and keep it:
# kernel.sh [FOLDER]. Takes ten minutes or so on two CPUs; nothing but `make
# no-uprobes-kernel` asks for it. Does nothing when it is there, made from this config.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
config=$here/no-uprobes.config
keep=${1:-${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}/kernel-no-uprobes}
source=/usr/src/linux-source-6.1.tar.xz

if [ -s "$keep/bzImage" ] && cmp -s "$config" "$keep/asked.config"; then
	echo "$keep/bzImage is there"
	exit 0
fi
[ -s "$source" ] || { echo "needs Debian's package linux-source-6.1" >&2; exit 1; }
mkdir -p "$keep"
tree=$keep/source
if [ ! -f "$tree/unpacked" ]; then
	rm -rf "$tree" # half unpacked
	mkdir -p "$tree"
	tar -xf "$source" -C "$tree" --strip-components=1
	touch "$tree/unpacked"
fi
cd "$tree"
make -s ARCH=x86_64 tinyconfig
scripts/kconfig/merge_config.sh -m -O . .config "$config" > merge.log
make -s ARCH=x86_64 olddefconfig
# What kconfig dropped silently (a name that is gone, a dependency) would be missed later.
missing=$(grep -E '^CONFIG_[A-Z0-9_]+=' "$config" | grep -vxFf .config || :)
[ -z "$missing" ] || { printf 'not in the configuration made:\n%s\n' "$missing" >&2; exit 1; }
if grep -E '^CONFIG_(UPROBES|UPROBE_EVENTS|KPROBES)=' .config >&2; then exit 1; fi
nice -n 10 make -s ARCH=x86_64 -j"$(nproc)" bzImage
cp arch/x86/boot/bzImage "$keep/bzImage.new"
cp .config "$keep/config"
mv "$keep/bzImage.new" "$keep/bzImage"
cp "$config" "$keep/asked.config"
cd "$keep"
rm -rf "$tree"
echo "$keep/bzImage is made"
