# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# -u USER, --cgroup PATH: of all processes only those of a user, or in a control group; those that start later, too.
. "${0%/*}/lib.bash"
another_user hello
F=$FIX/hello

# Lines of greet() are of these fixtures, one of each, and of no others.
only() { # only NAME...
	local name want=
	for name; do eval "want=\"\$want \$PID_$name\""; done
	events | grep -o 'hello-[0-9]*' | cut -d- -f2 | sort | xargs > got.txt
	# shellcheck disable=SC2086 # words
	printf '%s\n' $want | sort | xargs | diff - got.txt || fail "not those of $*"
}
# before: some run already; traced OPTION... -- BEFORE... -- LATER...: how those that come while it traces are started.
work() {
	local name
	for name; do go "$name"; done
	for name; do finish "$name"; done
	trace_stop
}

for user in nobody 65534; do
	NAME=mine start "$F"
	NAME=other start "$START_AS_USER" "$F"
	trace --lossless -u $user --stats "p:$F:greet"
	NAME=mine_late start "$F"
	NAME=other_late start "$START_AS_USER" "$F"
	work mine other mine_late other_late
	only other other_late
	[ "$(last_stat processes)" = 2 ] || fail "not two processes"
done

# Whom it acts as decides: a setuid program is its owner's.
chmod u+s "$F"
NAME=mine start "$F"
NAME=suid start "$START_AS_USER" "$F"
text_of "$PID_mine" "$F" clean
# Whose it becomes by its exec is known behind that: at once by the kernel's connector; in another pid namespace, which has none, within a second.
is_probed() { text_of "$1" "$F" now; ! cmp -s clean now; }
if grep -q '^Uid:.*65534.0.0.0$' "/proc/$PID_suid/status"; then
	trace --lossless --user root "p:$F:greet"
	NAME=suid_late start "$START_AS_USER" "$F"
	eventually is_probed "$PID_suid_late"
	work mine suid suid_late
	only mine suid suid_late
	trace --lossless --user nobody "p:$F:greet"
	NAME=suid start "$START_AS_USER" "$F"
	work suid
	only
else
	go mine && go suid && finish mine && finish suid
fi
chmod u-s "$F"

# A library, whose loaders are held as well.
cp "$(ldd "$F" | awk '/libc\.so/ { print $3 }')" "$DIR/libown.so.6"
mkdir "$DIR/lib" && mv "$DIR/libown.so.6" "$DIR/lib/libc.so.6" && chmod -R a+rX "$DIR/lib"
export LD_LIBRARY_PATH=$DIR/lib
trace --lossless -u nobody "p:$DIR/lib/libc.so.6:exit"
NAME=mine start "$F"
NAME=other start "$START_AS_USER" "$F"
work mine other
unset LD_LIBRARY_PATH
only other

refused "^uprobe: error: no user is called 'no_such_user'\$" -u no_such_user "p:$F:greet"
usage "-u is for all processes: it excludes -p, -L and a command" -u root -p 1 "p:$F:greet"
usage "-u is for all processes: it excludes -p, -L and a command" -u root "p:$F:greet" -- true
usage "--cgroup is for all processes: it excludes -p, -L and a command" --cgroup / -L 1 "p:$F:greet"
refused "^uprobe: error: there is no control group 'no/such/group'\$" --cgroup no/such/group "p:$F:greet"

# groups of each version that is there
G=ubp-test-$$ made=()
drop_groups() { local dir; for dir in "${made[@]}"; do rmdir "$dir" 2> /dev/null; done; }
trap 'cleanup; drop_groups; rm -rf "$DIR"' EXIT
in_group() { printf '#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s\n' "$1" "$F" > "$2" && chmod 755 "$2"; }
try_group() { # try_group DIR PATH...: below a mounted hierarchy
	local dir=$1 path
	shift
	for path; do
		made=("$dir/below" "$dir")
		mkdir "$dir" "$dir/below" || skip "no control group can be made: $dir"
		in_group "$dir" in_it
		in_group "$dir/below" below_it
		NAME=out start "$F"
		NAME=in start "$PWD/in_it"
		trace --lossless --cgroup "$path" "p:$F:greet"
		NAME=below start "$PWD/below_it"
		NAME=late start "$PWD/in_it"
		NAME=out_late start "$F"
		work out in below late out_late
		only in below late
		trace --lossless --cgroup "$path" -u nobody "p:$F:greet"
		NAME=in start "$PWD/in_it"
		work in
		only
		drop_groups
	done
}
n=0
V2=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
if [ -n "$V2" ] && [ -w "$V2/cgroup.procs" ]; then
	try_group "$V2/$G" "$V2/$G" "$V2/$G/below/.." "$G" "/$G"
	n=$((n + 1))
fi
V1=$(findmnt -nt cgroup -O freezer -o TARGET | head -n 1)
if [ -n "$V1" ] && [ -w "$V1/cgroup.procs" ]; then
	try_group "$V1/$G" "$V1/$G" "freezer/$G" "$G"
	n=$((n + 1))
fi
[ $n != 0 ] || skip "no control groups here"
