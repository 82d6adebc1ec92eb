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
# shellcheck source=.ci/boot.bash
. "$(dirname "$0")/boot.bash"
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
needs qemu-system-x86_64 busybox cpio
busybox=$(command -v busybox)
! readelf -lW "$busybox" | grep -q INTERP || die "needs a static busybox"
boot_begin "$busybox"
mkdir "$dir/back"
# What it needs to find our files.
[ -z "$modules" ] || boot_modules "$modules" "$(ls "$modules/lib/modules")" virtio_pci 9pnet_virtio 9p overlay
{
	export -p | grep -vE '^declare -x (TMPDIR|OLDPWD|PWD|SHLVL|HOME|TERM)='
	echo 'export HOME=/root TMPDIR=/run/tmp TERM=dumb'
} | boot_job "$@"
boot_init <<SH
mkdir /lower /over
p9() { mount -t 9p -o "trans=virtio,version=9p2000.L,\$1" "\$2" "\$3" || die "no \$2"; }
p9 msize=262144,cache=loose,ro host /lower
if [ -n "$plain" ]; then
	mount --bind /lower /new
	for d in tmp var/tmp; do mount -t tmpfs tmpfs /new/\$d; chmod 1777 /new/\$d; done
else
	mount -t tmpfs tmpfs /over && mkdir /over/up /over/work &&
	mount -t overlay -o lowerdir=/lower,upperdir=/over/up,workdir=/over/work overlay /new || die "no overlay"
fi
for d in proc sys dev; do mount --move /\$d /new/\$d; done
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts /new/dev/pts && ln -sf pts/ptmx /new/dev/ptmx
ln -sf /proc/self/fd /new/dev/fd
mount -t tmpfs tmpfs /new/dev/shm; chmod 1777 /new/dev/shm
mount -t tmpfs tmpfs /new/run
mkdir -p /new/run/guest /new/run/tmp; chmod 1777 /new/run/tmp
p9 msize=65536,cache=none wayback /new/run/guest
cp /job /bin/busybox /new/run/guest/
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
# Its time stamp counter is ours. On a busy host the kernel misjudges it, and its clock then runs
# several times too fast: since 5.10 or so it can be told.
if cc -O1 -o "$dir/tsc" "${0%/*}/tsc.c" 2> /dev/null && khz=$("$dir/tsc"); then append+=" tsc_early_khz=$khz"; fi

# No cx16: with it newer kernels panic at random under emulation. On a busy host older ones take the
# timer for broken.
rc=0 begin=$SECONDS
boot_qemu "$seconds" "$kernel" "console=ttyS0 mitigations=off random.trust_cpu=on no_timer_check $append" \
	qemu-system-x86_64 -cpu max,cx16=off -smp 2 -m "$memory" -device virtio-rng-pci \
	-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
	-virtfs "local,path=$dir/back,mount_tag=wayback,security_model=none" -serial stdio || rc=$?
# A limit inside is one by that clock.
[ ! -s "$dir/back/status" ] || [ "$(cat "$dir/back/status")" = 0 ] ||
	echo "the machine ran $((SECONDS - begin)) s, $(cat "$dir/back/up") s by its own clock" >&2
boot_end $rc "$dir/back/status" "$seconds"
