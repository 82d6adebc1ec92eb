#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What a hit costs, beside the kernel's uprobes: see run.py --help.
exec python3 "${0%/*}/run.py" "$@"
