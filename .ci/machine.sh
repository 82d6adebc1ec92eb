#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# machine.sh [OPTION...] ROOT COMMAND [ARG...]: boot an emulated machine whose files are those of
# the folder ROOT (.ci/root.sh, with a kernel's package), and run a command in it, as root, in
# the folder of this name if it has one, with 2 CPUs and no network. What it writes to its files is gone afterwards.
#   --arch ARCH       (arm64)
#   --share FOLDER[:NAME]  is there, too, by its own name or another; repeatable
#   --env=NAME=VALUE  repeatable
#   --kernel FILE     (ROOT/boot/vmlinuz-*), with the modules of that name, if there are any
#   --append TEXT     more of a kernel command line
#   --cpu NAME --memory MB --cpus N
#   --seconds N       how long all of it may take (600)
# The command's output is ours, and so is its exit status. 124: it took too long. 125: the machine
# did not do as it should. What it wrote to its console is shown then.
set -eu
# shellcheck source=.ci/boot.bash
. "$(dirname "$0")/boot.bash"
arch=arm64 kernel='' append='' cpu='' memory=2048 cpus=2 seconds=600 shares=() names=() vars=()
while [ $# -gt 0 ]; do
	case $1 in
	--env=*) vars+=("${1#--env=}"); shift; continue ;;
	--arch) arch=$2 ;; --kernel) kernel=$2 ;; --append) append=$2 ;; --cpu) cpu=$2 ;;
	--memory) memory=$2 ;; --cpus) cpus=$2 ;; --seconds) seconds=$2 ;;
	--share) shares+=("$(realpath "${2%%:*}")") names+=("$(realpath -m "${2#*:}")") ;;
	--*) die "what is $1?" ;;
	*) break ;;
	esac
	shift 2
done
[ $# -ge 2 ] || die "usage: ${0##*/} [OPTION...] ROOT COMMAND [ARG...]"
root=$(realpath "$1")
shift
case $arch in
arm64)
	qemu=(qemu-system-aarch64 -M virt -cpu "${cpu:-max,pauth-impdef=on}") console=ttyAMA0 ;;
amd64)
	# With cx16 newer kernels panic at random under emulation.
	qemu=(qemu-system-x86_64 -M q35 -cpu "${cpu:-max,cx16=off}") console=ttyS0 ;;
*) die "no machine for $arch" ;;
esac
needs "${qemu[0]}" cpio mke2fs
[ -n "$kernel" ] || kernel=$(ls "$root"/boot/vmlinuz-* 2> /dev/null | tail -n 1)
[ -s "$kernel" ] || die "no kernel in $root"
[ -x "$root/bin/busybox" ] || die "no busybox in $root"
boot_begin "$root/bin/busybox"

# --- its disks --------------------------------------------------------------
# disk FILE FOLDER: a file system with what is in the folder. 400 MB are made in 2 s.
disk() {
	local mb
	: > "$1"
	mb=$(du -sm --apparent-size "$2" | cut -f 1)
	mke2fs -q -F -t ext4 -O ^has_journal -i 8192 -m 0 -d "$2" "$1" $((mb * 5 / 4 + 64))M
}
drives=()
drive() {
	drives+=(-drive "if=none,id=d${#drives[@]},file=$1,format=raw,snapshot=on,cache=unsafe"
	         -device "virtio-blk-pci,drive=d${#drives[@]}")
}
# That of the root is kept until the root is another.
image=$root.ext4
(
	flock 9
	if [ ! -e "$root/.debs" ] || ! cmp -s "$root/.debs" "$image.of"; then
		rm -f "$image.of"
		disk "$image.new" "$root"
		mv "$image.new" "$image"
		cp "$root/.debs" "$image.of"
	fi
) 9> "$image.lock"
drive "$image"
for i in "${!shares[@]}"; do
	disk "$dir/share$i" "${shares[i]}"
	drive "$dir/share$i"
done

# --- its first program ------------------------------------------------------
# What it needs to find its disks and us.
release=$(basename "$kernel" | sed 's/^vmlinuz-//')
[ ! -d "$root/lib/modules/$release" ] || boot_modules "$root" "$release" virtio_pci virtio_blk virtio_console
{ [ ${#vars[@]} = 0 ] || printf 'export %q\n' "${vars[@]}"; } | boot_job "$@"
printf '%s\n' "${names[@]}" > "$dir/root/shares"
boot_init <<'IN'
mount -t ext4 /dev/vda /new || die "no root"
# What is shared may be in there.
for d in run tmp; do mount -t tmpfs -o mode=1777 tmpfs /new/$d; done
disk=a
while read -r share; do
	[ -n "$share" ] || continue
	disk=$(echo $disk | tr a-y b-z)
	mkdir -p "/new$share" && mount -t ext4 /dev/vd$disk "/new$share" || die "no $share"
done < /shares
for d in proc sys dev; do mount --move /$d /new/$d; done
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts -o ptmxmode=666 devpts /new/dev/pts
mount -t tmpfs -o mode=1777 tmpfs /new/dev/shm
ln -sfn /proc/self/fd /new/dev/fd
ln -sfn fd/0 /new/dev/stdin; ln -sfn fd/1 /new/dev/stdout; ln -sfn fd/2 /new/dev/stderr
mount -t tracefs tracefs /new/sys/kernel/tracing 2> /dev/null
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup 2> /dev/null
mkdir /new/run/machine && cp /job /bin/busybox /new/run/machine/
cat > /new/run/machine/first <<'FIRST'
b=/run/machine/busybox
$b hostname machine; $b ip link set lo up
# Ports of one name each: output, and what is of nobody but this script.
for p in /sys/class/virtio-ports/*; do
	case $(cat "$p/name") in out) out=/dev/${p##*/} ;; status) status=/dev/${p##*/} ;; esac
done
[ -n "$out" ] && [ -n "$status" ] || { echo "machine: no way back"; $b poweroff -f; }
ldconfig 2> /dev/null
$b chmod 600 "$status"
export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin LANG=C.UTF-8
bash /run/machine/job < /dev/null > "$out" 2>&1
echo $? > "$status"
$b sync
$b poweroff -f
FIRST
exec switch_root /new /bin/bash /run/machine/first
IN

# --- run --------------------------------------------------------------------
: > "$dir/status"
set +e
boot_qemu "$seconds" "$kernel" "console=$console $append" "${qemu[@]}" -smp "$cpus" -m "$memory" \
	"${drives[@]}" -device virtio-serial-pci \
	-chardev file,id=out,path=/dev/fd/1,append=on -device virtserialport,chardev=out,name=out \
	-chardev "file,id=status,path=$dir/status" -device virtserialport,chardev=status,name=status | cat
boot_end "${PIPESTATUS[0]}" "$dir/status" "$seconds"
