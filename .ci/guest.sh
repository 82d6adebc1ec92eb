#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Run a command in an emulated x86-64 machine with another kernel, on the files of this
# one: guest.sh [OPTION...] KERNEL COMMAND [ARG...]
#   --modules FOLDER   what the kernel needs for that is in FOLDER/lib/modules
#   --append TEXT      more of a kernel command line
#   --plain            no overlay: / is read-only, but for /tmp, /run and the like
#   --memory MB        (1536)
#   --seconds N        how long all of it may take (no limit)
# The command sees this machine's files, may write over all of them, and nothing of that is
# left behind. It has this shell's environment, and folder if that is there, two processors, root, no network.
# Its output is ours, and so is its exit status. 124: it took too long. 125: the machine did not come so
# far. What it wrote to its console is shown then.
set -eu
modules='' append='' plain='' memory=1536 seconds=0
while :; do
	case ${1:-} in
	--modules) modules=$2; shift 2 ;;
	--append) append=$2; shift 2 ;;
	--memory) memory=$2; shift 2 ;;
	--seconds) seconds=$2; shift 2 ;;
	--plain) plain=1; shift ;;
	*) break ;;
	esac
done
kernel=${1:?} && shift
for tool in qemu-system-x86_64 busybox cpio; do
	command -v "$tool" > /dev/null || { echo "needs $tool" >&2; exit 125; }
done
busybox=$(command -v busybox)
! readelf -lW "$busybox" | grep -q INTERP || { echo "needs a static busybox" >&2; exit 125; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$dir/root/bin" "$dir/root/modules" "$dir/job"
cp "$busybox" "$dir/root/bin/busybox"

# The modules that it needs to find our files, in the order in which they are loaded.
if [ -n "$modules" ]; then
	release=$(ls "$modules/lib/modules")
	[ -s "$modules/lib/modules/$release/modules.dep" ] || depmod -b "$modules" "$release"
	for module in virtio_pci 9pnet_virtio 9p overlay; do
		PATH=$PATH:/usr/sbin:/sbin modprobe -d "$modules" -S "$release" --show-depends $module 2> /dev/null
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' > "$dir/modules"
	while read -r module; do
		name=${module##*/}
		case $module in
		*.xz) xz -dc "$module" > "$dir/root/modules/${name%.xz}"; name=${name%.xz} ;;
		*) cp "$module" "$dir/root/modules/" ;;
		esac
		echo "$name" >> "$dir/root/modules/order"
	done < "$dir/modules"
fi

{
	echo "cd $(printf %q "$PWD") 2> /dev/null || cd /"
	export -p | grep -vE '^declare -x (TMPDIR|OLDPWD|PWD|SHLVL|HOME|TERM)='
	echo 'export HOME=/root TMPDIR=/run/tmp TERM=dumb'
	printf 'exec '; printf '%q ' "$@"; echo
} > "$dir/root/job"

cat > "$dir/root/init" <<SH
#!/bin/busybox sh
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /lower /new /over
mount -t proc proc /proc
mount -t sysfs sysfs /sys
[ -c /dev/ttyS0 ] || mount -t devtmpfs devtmpfs /dev
[ ! -s /modules/order ] || while read -r m; do insmod /modules/\$m || echo "insmod \$m failed"; done < /modules/order
die() { echo "guest: \$*"; reboot -f; }
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro host /lower || die "no files"
if [ -n "$plain" ]; then
	mount --bind /lower /new
	for d in tmp var/tmp; do mount -t tmpfs tmpfs /new/\$d; chmod 1777 /new/\$d; done
else
	mount -t tmpfs tmpfs /over && mkdir /over/up /over/work &&
	mount -t overlay -o lowerdir=/lower,upperdir=/over/up,workdir=/over/work overlay /new || die "no overlay"
fi
mount --move /proc /new/proc
mount --move /sys /new/sys
mount --move /dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts /new/dev/pts && ln -sf pts/ptmx /new/dev/ptmx
ln -sf /proc/self/fd /new/dev/fd
mount -t tmpfs tmpfs /new/dev/shm; chmod 1777 /new/dev/shm
mount -t tmpfs tmpfs /new/run
mkdir -p /new/run/guest /new/run/tmp; chmod 1777 /new/run/tmp
mount -t 9p -o trans=virtio,version=9p2000.L,msize=65536,cache=none wayback /new/run/guest && cp /job /bin/busybox /new/run/guest/ || die "no way back"
cat > /new/run/first <<'IN'
b=/run/guest/busybox
\$b hostname guest
\$b ip link set lo up 2> /dev/null
\$b stty -F /dev/ttyS1 raw -echo
/bin/bash /run/guest/job < /dev/null > /dev/ttyS1 2>&1
status=\$?
read -r up rest < /proc/uptime && echo "\${up%.*}" > /run/guest/up
echo \$status > /run/guest/status
\$b sync
\$b reboot -f
IN
exec switch_root /new /bin/bash /run/first
SH
chmod 755 "$dir/root/init"
(cd "$dir/root" && find . | cpio -o -H newc --quiet | gzip -1) > "$dir/initrd"

# Its time stamp counter is ours. On a busy host the kernel misjudges it, and its clock then runs
# several times too fast: since 5.10 or so it can be told.
if cc -O1 -o "$dir/tsc" "${0%/*}/tsc.c" 2> /dev/null && khz=$("$dir/tsc"); then append+=" tsc_early_khz=$khz"; fi

# No cx16: with it newer kernels panic at random under emulation. On a busy host older ones take the
# timer for broken.
rc=0 begin=$SECONDS
timeout --foreground -k 5 "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,cx16=off -smp 2 -m "$memory" -kernel "$kernel" \
	-initrd "$dir/initrd" -append "console=ttyS0 panic=-1 mitigations=off random.trust_cpu=on no_timer_check $append" \
	-device virtio-rng-pci -display none -no-reboot -nic none -monitor none -serial "file:$dir/console" -serial stdio \
	-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
	-virtfs "local,path=$dir/job,mount_tag=wayback,security_model=none" < /dev/null || rc=$?
[ -z "${GUEST_CONSOLE:-}" ] || cp "$dir/console" "$GUEST_CONSOLE"
if [ -s "$dir/job/status" ]; then
	status=$(cat "$dir/job/status")
	# A limit inside is one by that clock.
	[ "$status" = 0 ] || echo "the machine ran $((SECONDS - begin)) s, $(cat "$dir/job/up") s by its own clock" >&2
	exit "$status"
fi
tail -n 20 "$dir/console" >&2
[ $rc != 124 ] && [ $rc != 137 ] || { echo "the machine with $kernel was not done after $seconds s" >&2; exit 124; }
echo "the machine with $kernel did not get to the end" >&2
exit 125
