# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Attach to a running program: arguments and returns in the kernel's text; it
# ends, so uprobe ends; and what was probed ends as ever.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/args_int
start args_int
trace -p "$PID" -e "p:geo/area $F:area w=$ARG1:s32 h=$ARG2:s32 $ARG2:u8 \$comm" \
	-e "r:geo/area_ret $F:area%return ret=\$retval:s32"
go
finish
trace_done

cat > want.txt <<'END'
        args_int-PID [CPU] FLAGS TIME: area: (ADDR) w=3 h=4 arg3=4 arg4="args_int"
        args_int-PID [CPU] FLAGS TIME: area_ret: (ADDR <- ADDR) ret=12
        args_int-PID [CPU] FLAGS TIME: area: (ADDR) w=5 h=6 arg3=6 arg4="args_int"
        args_int-PID [CPU] FLAGS TIME: area_ret: (ADDR <- ADDR) ret=30
        args_int-PID [CPU] FLAGS TIME: area: (ADDR) w=-7 h=8 arg3=8 arg4="args_int"
        args_int-PID [CPU] FLAGS TIME: area_ret: (ADDR <- ADDR) ret=-56
END
same want.txt out.txt
[ "$(events | awk '{ print $1 }' | sort -u)" = "args_int-$PID" ] || fail "not its pid"
[ "$(events | awk '{ print $3 }' | sort -u)" = ..... ] || fail "flags are not '.....'"
# Times are of CLOCK_MONOTONIC: they rise, and lie before now.
events | awk -v now="$(awk '{ print $1 }' /proc/uptime)" '
	{ t = $4 + 0; if (t < last || t > now + 1 || t < now - 60) bad = 1; last = t }
	END { exit bad }' || fail "times are wrong"
