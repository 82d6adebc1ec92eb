# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Processes whose only thread is blocked in the kernel, one for each system call
# that waits: attached to and let go again and again, sent signals that they
# ignore, the call neither ends early nor returns what it would not have.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/restarts

# begin SUFFIX NAMES [MS]: one process for each call. PIDS_OF: all, by commas.
begin() {
	local name
	PIDS_OF=
	for name in $2; do
		NAME=${name}_$1 start restarts "$name" ${3:+"$3"}
		PIDS_OF+=${PIDS_OF:+,}$PID
	done
}
# tell SUFFIX NAMES LINE: end their waits.
tell() {
	local name
	for name in $2; do eval "echo $3 >&\$IN_${name}_$1"; done
}
# expect SUFFIX NAMES REGEX
expect() {
	local name wrong=
	for name in $2; do
		finish "${name}_$1"
		[[ $LAST =~ $3 ]] || wrong+="$LAST; "
	done
	[ -z "$wrong" ] || fail "$1: $wrong"
}
rounds() {
	local sig pid i
	for ((i = $(scaled 3); i > 0; i--)); do
		trace -p "$PIDS_OF" -e "p:r/work $F:work"
		# Untraced, these would wake nobody.
		for sig in CHLD URG WINCH CONT; do
			for pid in ${PIDS_OF//,/ }; do kill -$sig "$pid"; done
		done
		trace_stop
	done
}

calls=$($F list) limited=$($F list ms)

SECONDS=0
begin woken "$calls"
rounds
# What has a limit must not reach it in that time: those are fewer.
limit=$((2500 * ${UBP_SLOWER:-1} + SECONDS * 1000))
tell woken "$calls" go
expect woken "$calls" ': (right|handled)'

# While traced, the result comes and is right, too.
begin traced "$calls"
trace -p "$PIDS_OF" -e "p:r/work $F:work"
tell traced "$calls" go
expect traced "$calls" ': (right|handled)'
trace_done

# With a limit: as long as asked for, at least.
begin limited "$limited" $limit
tell limited "$limited" none
rounds
expect limited "$limited" ': right$'

# A signal with a handler breaks them off, as it does untraced.
begin handler "$calls"
rounds
trace -p "$PIDS_OF" -e "p:r/work $F:work"
tell handler "$calls" handler
expect handler "$calls" ': handled$'
trace_done
