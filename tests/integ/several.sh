# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Several probes at one address fire in order of definition; each has its own
# arguments, filter and count.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/args_int
start args_int
trace --stats -p "$PID" -e "p:s/one $F:area w=$ARG1:s32" -e "p:s/two $F:area h=$ARG2:s32" --filter 'h > 4' \
	-e "r:s/ret_a $F:area a=\$retval:s32" -e "r:s/ret_b $F:area b=\$retval:s32" \
	-e "p:s/three $F:area" --filter 'common_pid == 1'
go
finish
trace_done
cat > want.txt <<'END'
        args_int-PID [CPU] FLAGS TIME: one: (ADDR) w=3
        args_int-PID [CPU] FLAGS TIME: ret_a: (ADDR <- ADDR) a=12
        args_int-PID [CPU] FLAGS TIME: ret_b: (ADDR <- ADDR) b=12
        args_int-PID [CPU] FLAGS TIME: one: (ADDR) w=5
        args_int-PID [CPU] FLAGS TIME: two: (ADDR) h=6
        args_int-PID [CPU] FLAGS TIME: ret_a: (ADDR <- ADDR) a=30
        args_int-PID [CPU] FLAGS TIME: ret_b: (ADDR <- ADDR) b=30
        args_int-PID [CPU] FLAGS TIME: one: (ADDR) w=-7
        args_int-PID [CPU] FLAGS TIME: two: (ADDR) h=8
        args_int-PID [CPU] FLAGS TIME: ret_a: (ADDR <- ADDR) a=-56
        args_int-PID [CPU] FLAGS TIME: ret_b: (ADDR <- ADDR) b=-56
END
same want.txt out.txt
grep -qE ' s/two hits=3 passed=2 ' err.txt || fail "--stats of the filtered probe"
grep -qE ' s/three hits=3 passed=0 ' err.txt || fail "--stats of the probe that never passes"
