#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# guard_code.h of guard.S, or with --check whether it is that (arch/guard.sh).
here=$(dirname "$0")
GUARD_DIR=$here GUARD_TOOLS=aarch64-linux-gnu- exec "$here/../guard.sh" "$@"
