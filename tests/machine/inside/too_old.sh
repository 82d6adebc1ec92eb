#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# In a machine whose kernel lacks what ubp cannot do without: one clear line.
. "${0%/*}/lib.bash"

told "$(uname -r)"
"$UPROBE" "p:$FIXTURES/hello:greet" -- "$FIXTURES/hello" you > /run/out 2> /run/err < /dev/null
status=$?
cat /run/err
[ $status = 1 ] || wrong "exit status $status, not 1"
[ "$(wc -l < /run/err)" = 1 ] && grep -q '^uprobe: error: this kernel is too old: ' /run/err || wrong "not one clear line"
[ ! -s /run/out ] || wrong "the command was run"
done_here
