# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The tests that tell most of the library, once more with the engine in a process of its own, as it is where ubp is installed. All that are for that: `make check-apart`.
. "${0%/*}/lib.bash"
export UBP_ENGINE=$UBP_BUILD/ubp-engine UBP_CALLS_SECONDS=3 RATE_EVENTS=$(scaled 2000000)

units="test_live_calls test_handler" scripts="handlers.sh library_calls.sh library_rate.py"
! long || { units+=" test_live_threads" scripts+=" library_sessions.sh outsider.sh"; unset UBP_CALLS_SECONDS RATE_EVENTS; }
bad=0 n=0
# again NAME COMMAND...
again() {
	local name=$1
	shift
	mkdir "$name" && cd "$name" || fail "mkdir"
	SECONDS=0
	timeout $((120 * ${UBP_SLOWER:-1})) "$@" > log 2>&1
	case $? in
	0) n=$((n + 1)); echo "$name: $SECONDS s" ;;
	77) echo "$name skipped: $(tail -n 1 log)" ;;
	*) bad=$((bad + 1)); echo "--- $name"; tail -n 25 log ;;
	esac
	cd ..
}
for name in $units; do
	[ ! -x "$UBP_BUILD/tests/unit/$name" ] || again "$name" "$UBP_BUILD/tests/unit/$name"
done
for name in $scripts; do
	case $name in *.py) again "$name" python3 "${0%/*}/$name" ;; *) again "$name" bash "${0%/*}/$name" ;; esac
done
[ $bad = 0 ] && [ $n -ge 3 ] || fail "$bad tests, $n passed"
