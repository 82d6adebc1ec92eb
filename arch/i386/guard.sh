#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# As arch/x86/guard.sh, for this folder.
here=$(dirname "$0")
GUARD_DIR=$here GUARD_BITS=32 GUARD_PREFIX=GUARD32_CODE exec "$here/../x86/guard.sh" "$@"
