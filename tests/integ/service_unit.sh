# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# docs/hosts/ubp.service: systemd finds nothing wrong with it, and what it runs answers Prometheus and ends well by the signal that systemd sends it.
. "${0%/*}/lib.bash"

have systemd-analyze
have python3
unit=$UBP_SRC/docs/hosts/ubp.service
line=$(sed -n 's/^ExecStart=//p' "$unit")
# Manuals need not be installed here.
sed "s|^ExecStart=[^ ]*|ExecStart=$UPROBE|; /^Documentation=/d" "$unit" > ubp-test.service
systemd-analyze verify "$PWD/ubp-test.service" > verify.txt 2>&1 || fail "systemd-analyze: $(cat verify.txt)"
! grep -q 'ubp-test.service:' verify.txt || fail "systemd-analyze: $(cat verify.txt)"

# Of all processes, as the service does: so it is a program of our own.
cp "$FIXTURES/hello" service_hello || fail "cp"
echo "r:h/greet $PWD/service_hello:greet d=\$duration" > probes
command=${line#* }
command=${command//'${UBP_LISTEN}'/127.0.0.1:0}
# shellcheck disable=SC2086 # words are words there
trace ${command//\/etc\/ubp\/probes/probes}
url=$(grep -o 'http://[^ ]*' err.txt) || fail "it does not listen: $(cat err.txt)"
start "$PWD/service_hello" you
go
finish
told() { python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$url" > metrics.txt; grep -q '^ubp_duration_seconds_count{.*event="greet".*comm="service_hello"} 1$' metrics.txt; }
eventually told || fail "not told: $(cat metrics.txt)"
trace_stop INT
