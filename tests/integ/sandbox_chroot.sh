# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# uprobe in a chroot with nothing else but what it needs, as root and as an ordinary user;
# /proc is there, /sys is empty.
. "${0%/*}/lib.bash"
. "${0%/*}/sandboxes.bash"

box_is_full
have unshare
# in_box COMMAND...: by it, with a /proc and a /dev.
cat > enter <<SH
mount -t proc proc $BOX/proc && mount --rbind /dev $BOX/dev || exit 76
exec "\$@"
SH
unshare -m true 2> err || skip "no mount namespaces: $(cat err)"
for id in 0 65534; do
	unshare -m sh enter chroot --userspec=$id:$id "$BOX" /bin/env PATH=/bin sh /box.sh > out 2>&1
	[ $? != 76 ] || skip "nothing can be mounted here: $(tail -n 1 out)"
	well "chroot as $id" out
	rm -rf "$BOX"/tmp/*
done
