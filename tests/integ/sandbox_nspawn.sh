# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# uprobe in a container of systemd-nspawn (its seccomp filter, its capabilities, no network), and
# from the host on a process in it.
. "${0%/*}/lib.bash"
. "${0%/*}/sandboxes.bash"

box_is_full
have systemd-nspawn
run=(systemd-nspawn --quiet --register=no --keep-unit --private-network --pipe -D "$BOX" --setenv=PATH=/bin)
"${run[@]}" /bin/busybox true > out 2>&1 < /dev/null || skip "systemd-nspawn starts no container here: $(tail -n 1 out)"
"${run[@]}" /bin/sh /box.sh > out 2>&1 < /dev/null
well "systemd-nspawn" out

printf '#!/bin/sh\nexec %s "$@"\n' "$(printf '%q ' "${run[@]}")" > into
chmod 755 into
start "$PWD/into" /bin/threads 2 10
target_in_box
trace -p "$TARGET" -e "p:t/tick /bin/threads:tick i=%si:s32" -e "r:t/ret /bin/threads:tick"
go
finish
trace_done
expect_count 20 ' tick: .* i='
expect_count 20 ' ret: '
