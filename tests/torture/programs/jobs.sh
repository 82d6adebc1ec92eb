# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Loops, pipes, subshells, traps, job control: always the same output.
set -m
t() { :; }
trap 't=1; echo trapped USR1' USR1
trap 'echo exit trap' EXIT
for i in {1..60}; do
 x=$(echo $i | tr 0-9 a-j | sed s/a/b/); y="${x//a/bb}"; a[i]=$y$x
 ( echo sub $i; exit $((i%7)) ); echo rc $?
done
echo "${a[@]}" | md5sum
seq 1 2000 | while read n; do s=$((s+n)); [ $((n%500)) = 0 ] && echo $s; done
for i in {1..20}; do sleep 0.01 & done; wait
kill -USR1 $$
sleep 0.05 & fg %% >/dev/null; echo fg $?
sleep 5 & j=$!; kill -9 $j; wait $j 2>/dev/null; echo killed $?
f() { local d=$1; [ $d -gt 0 ] && f $((d-1)); return $d; }; for i in {1..20}; do f 50; done; echo f $?
cat <(echo ps1) <(echo ps2 | rev) | sort -r
printf '%s\n' {1..300} | sort -R | sort -n | md5sum
case abc in a*) echo case;; esac; [[ foobar =~ o+(b) ]] && echo ${BASH_REMATCH[1]}
mapfile -t m < <(seq 100); echo ${#m[@]}; printf -v v %05d 42; echo $v
echo {a..e}{1..5} | wc; help >/dev/null; set | wc -l >/dev/null
coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} l; echo got $l; eval "exec ${COPROC[1]}>&-"; wait
timeout 0.05 sleep 10; echo $?
