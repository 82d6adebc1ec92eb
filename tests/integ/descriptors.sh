# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The memory files for rings are made in the target, whose table of descriptors others may share: what
# a number stands for changes from one moment to the next. No file but ours is written or resized, neither
# one that the target could not write by itself, nor one of its own; and where nobody is in the way there
# are rings.
. "${0%/*}/lib.bash"
need_arch x86_64 aarch64
another_user descriptors threads
[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || skip "needs a tmpfs at /dev/shm"

SHM=$(mktemp -d /dev/shm/ubp-descriptors.XXXXXX) || fail "mktemp"
trap 'cleanup; rm -rf "$DIR" "$SHM"' EXIT
chmod 755 "$SHM"

# attempts N: uprobe makes rings, or tries to, in each of the targets.
attempts() {
	local i
	for ((i = 0; i < $1; i++)); do
		trace --mode jump --stats -p "$WORD" "p:$FIX/descriptors:step"
		trace_stop
		cat err.txt >> all.txt
		cmp "$SHM/file" "$SHM/copy" || fail "the file has $(stat -c %s "$SHM/file") bytes"
	done
}

# Root's file, which the target can name, but neither read nor write.
echo "not yours" | tee "$SHM/copy" > "$SHM/file"
chmod 600 "$SHM/file"
: > all.txt
start "$START_AS_USER" "$FIX/descriptors" path "$SHM/file" 16
attempts "$(often 12)"
go
finish

# Its own.
chown 65534 "$SHM/file"
start "$START_AS_USER" "$FIX/descriptors" open "$SHM/file" 16
attempts "$(scaled 4)"
go
finish
grep -q ' no_jump="its memory file: ' all.txt ||
	fail "never was another file in the way: nothing is shown by this: $(cat all.txt)"

# Nobody is in the way.
start "$START_AS_USER" "$FIX/threads" 2 10
trace --mode jump --stats -p "$PID" "p:$FIX/threads:tick"
go
finish
trace_done
grep -q ' jumps=1 ' err.txt || fail "no jump, though nobody was in the way: $(cat err.txt)"
