# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What guest.sh and machine.sh have in common: the first file system of an emulated machine, its run and
# its end. Sourced. $dir is a folder of our own; what is in $dir/root is what the machine begins with.
PATH=$PATH:/usr/sbin:/sbin
die() { echo "${0##*/}: $*" >&2; exit 125; }
needs() {
	local tool
	for tool; do command -v "$tool" > /dev/null || die "needs $tool"; done
}

# boot_begin BUSYBOX: a static one for that machine. Whatever happens, nothing stays.
boot_begin() {
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 130' INT TERM HUP
	mkdir -p "$dir/root/bin" "$dir/root/modules"
	cp "$1" "$dir/root/bin/busybox"
}
# boot_modules FOLDER RELEASE NAME...: these, of FOLDER/lib/modules/RELEASE, and what they need, in that
# order. What is built into the kernel is none.
boot_modules() {
	local in=$1 release=$2 name file
	shift 2
	[ -s "$in/lib/modules/$release/modules.dep" ] || depmod -b "$in" "$release"
	for name; do
		modprobe -d "$in" -S "$release" --show-depends "$name" 2> /dev/null || :
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > "$dir/modules"
	while read -r file; do
		name=${file##*/}
		case $file in
		*.xz) name=${name%.xz}; xz -dc "$file" > "$dir/root/modules/$name" ;;
		*) cp "$file" "$dir/root/modules/" ;;
		esac
		echo "/modules/$name" >> "$dir/root/modules/order"
	done < "$dir/modules"
}
# boot_job COMMAND [ARG...]: what the machine is for, /job, in the folder of this name if it has one. Before it come
# the lines on standard input.
boot_job() {
	{
		printf 'cd %q 2> /dev/null || cd /\n' "$PWD"
		cat
		printf 'exec'; printf ' %q' "$@"; echo
	} > "$dir/root/job"
}
# boot_init: its first program, which ends with switch_root; standard input is what comes after the modules.
boot_init() {
	{
		cat <<-'IN'
			#!/bin/busybox sh
			/bin/busybox --install -s /bin
			mkdir -p /proc /sys /dev /new
			mount -t proc proc /proc
			mount -t sysfs sysfs /sys
			[ -c /dev/ttyS0 ] || mount -t devtmpfs devtmpfs /dev
			[ ! -s /modules/order ] || while read -r m; do insmod "$m" || echo "insmod $m failed"; done < /modules/order
			die() { echo "machine: $*"; reboot -f; }
		IN
		cat
	} > "$dir/root/init"
	chmod 755 "$dir/root/init"
	(cd "$dir/root" && find . | cpio -o -H newc --quiet | gzip -1) > "$dir/initrd"
}
# boot_qemu SECONDS KERNEL COMMAND-LINE QEMU [ARG...]: run it, all in all so long at most (0: no limit). Its console is
# $dir/console.
boot_qemu() {
	local seconds=$1 kernel=$2 append=$3 qemu=$4 rc=0
	shift 4
	timeout --foreground -k 5 "$seconds" "$qemu" -accel tcg,thread=multi -kernel "$kernel" \
		-initrd "$dir/initrd" -append "panic=-1 $append" -serial "file:$dir/console" \
		-display none -no-reboot -nic none -monitor none "$@" < /dev/null || rc=$?
	[ -z "${GUEST_CONSOLE:-}" ] || cp "$dir/console" "$GUEST_CONSOLE"
	return $rc
}
# boot_end RC STATUS SECONDS: qemu ended with RC. End as the command in it did, whose exit status is in that file.
boot_end() {
	local rc=$1 status
	status=$(cat "$2" 2> /dev/null) || :
	case $status in
	[0-9]|[0-9][0-9]|[0-9][0-9][0-9]) exit "$status" ;;
	esac
	tail -n 40 "$dir/console" >&2
	[ "$rc" != 124 ] && [ "$rc" != 137 ] || { echo "${0##*/}: the machine was not done after $3 s" >&2; exit 124; }
	die "the machine did not get to the end ($rc)"
}
