# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# uprobe in a podman container with its default seccomp profile and capabilities, no network,
# no image but a folder: as its root and as an ordinary user. And from the host on a process in it.
. "${0%/*}/lib.bash"
. "${0%/*}/sandboxes.bash"

box_is_full
podman_here
"${RUN[@]}" --rootfs "$BOX" /bin/busybox true > out 2>&1 < /dev/null || skip "podman starts no container here: $(tail -n 1 out)"
for id in 0 65534; do
	"${RUN[@]}" --user $id:$id --env PATH=/bin --rootfs "$BOX" /bin/sh /box.sh > out 2>&1 < /dev/null
	well "podman as $id" out
	rm -rf "$BOX"/tmp/*
done

# From outside.
printf '#!/bin/sh\nexec %s --rootfs %s "$@"\n' "$(printf '%q ' "${RUN[@]}")" "$BOX" > into
chmod 755 into
start "$PWD/into" /bin/threads 2 10
target_in_box
trace -p "$TARGET" -e "p:t/tick /bin/threads:tick i=%si:s32" -e "r:t/ret /bin/threads:tick"
go
finish
trace_done
expect_count 20 ' tick: .* i='
expect_count 20 ' ret: '
