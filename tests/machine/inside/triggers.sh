# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# In the machine: have its kernel answer rows of random triggers. triggers.sh ROWS PROGRAM FIRST. Only what record.py
# says goes to standard output.
set -eu
mount -t tracefs tracefs /sys/kernel/tracing
# Uprobes go with files that are in memory.
cp "$2" "$TMPDIR/rndtgt"
exec python3 -I -S "${0%/*}/../triggers/record.py" "$1" "$TMPDIR/rndtgt" "${3:-0}"
