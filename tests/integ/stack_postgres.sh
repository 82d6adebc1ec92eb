# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A PostgreSQL backend: an optimised program without frame pointers, with a library of its own
# loaded while it runs. Its stacks are those that gdb finds.
. "${0%/*}/lib.bash"
. "${0%/*}/stacks.bash"
have gdb
bin=$(ls -d /usr/lib/postgresql/*/bin/postgres 2> /dev/null | tail -n 1)
bin=${bin%/postgres}
[ -x "$bin/postgres" ] || skip "needs postgresql"
another_user # the server refuses to run as root
cd "$DIR" || fail "cd"
mkdir "$DIR/stacks" && chown 65534 "$DIR/stacks" && cd stacks || fail "mkdir"
AS_USER=$START_AS_USER UPROBE=$UPROBE_AS_USER
LC_ALL=C as_user "$bin/initdb" -D "$DIR/data" -U bench -A trust --no-sync > initdb.log 2>&1 ||
	skip "no cluster: $(tail -n 1 initdb.log)"
cat > input <<'SQL'
create table t (a int, b text)
insert into t select i, 'x' || i from generate_series(1, 40) i
select count(*) from t where a % 3 = 0 and b like 'x1%'
do $$ begin perform a from t where a < 3; end $$
SQL
INPUT=$PWD/input
run=("$bin/postgres" --single -D "$DIR/data" -c jit=off postgres)
head -n 2 input > first && INPUT=$PWD/first
as_user "${run[@]}" < first > /dev/null 2> first.err || fail "$(tail -n 3 first.err)"
sed -n '3,$p' input > second && INPUT=$PWD/second
for what in ExecutorStart textlike standard_ExecutorFinish; do
	n=1
	[ $what = ExecutorStart ] && n=2
	as_gdb $n "$bin/postgres:$what" "${run[@]}"
	[ "$(awk '{ print NF; exit }' ours)" -gt 6 ] || fail "$what: $(cat ours)"
done
