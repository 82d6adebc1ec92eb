# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Static probes of programs as they are in Debian: python, PHP, Ruby, Java, libstdc++. What is not
# installed is left out.
. "${0%/*}/lib.bash"
use_usdt
in_modes trap jump

done_any=
program() { # program NAME FILE
	[ -e "$2" ] || { echo "left out: $1 (no $2)"; return 1; }
	done_any+=" $1"
}
run() { # run DEFINITION COMMAND...
	local definition=$1
	shift
	timeout "$TIMEOUT" "$UPROBE" -o out.txt "$definition" -- "$@" > stdout.txt 2> err.txt ||
		fail "$definition -- $*: ended with $?: $(tail -n 3 err.txt stdout.txt)"
}

if program python /usr/bin/python3.11; then
	P=/usr/bin/python3.11:python
	run "$P:gc__start" /usr/bin/python3.11 -I -S -c 'import gc; gc.collect(0); gc.collect(1); gc.collect(2)'
	[ "$(count ' gc__start: \(0x[0-9a-f]+\) arg1=1$')" -ge 1 ] || fail "python: no gc of generation 1"
	run "$P:import__find__load__start arg1:string" /usr/bin/python3.11 -I -S -c 'import colorsys'
	expect_count 1 ' import__find__load__start: .* arg1="colorsys"$'
	run "$P:audit name=arg1:string" /usr/bin/python3.11 -I -S -c 'import sys; sys.audit("one.two")'
	expect_count 1 ' audit: .* name="one.two"$'
fi
if program php /usr/bin/php; then
	echo '<?php function twice($x) { return 2 * $x; } for ($i = 0; $i < 3; $i++) twice($i); ' \
		'try { throw new Exception("e"); } catch (Exception $e) { } ' > t.php
	# Its probes are passed only if that variable is there.
	export USE_ZEND_DTRACE=1
	run 'php:function__entry arg1:string' /usr/bin/php -n t.php
	expect_count 3 ' function__entry: .* arg1="twice"$'
	run 'php:exception__thrown arg1:string' /usr/bin/php -n t.php
	expect_count 1 ' exception__thrown: .* arg1="Exception"$'
	run 'php:request__*  arg1:string' /usr/bin/php -n t.php
	expect_count 1 ' request__startup: .* arg1=".*/t.php"$'
fi
if program ruby /usr/bin/ruby; then
	run 'ruby:gc__mark__begin' /usr/bin/ruby --disable-gems -e '3.times { GC.start }'
	[ "$(count ' gc__mark__begin: ')" -ge 3 ] || fail "ruby: $(count) collections"
	run 'ruby:cmethod__entry arg1:string arg2:string' /usr/bin/ruby --disable-gems -e '[3, 1].sort.reverse'
	expect_count 1 ' cmethod__entry: .* arg1="Array" arg2="reverse"$'
	# A name with many places, that have not the same arguments.
	run 'ruby:*__create' /usr/bin/ruby --disable-gems -e 'Object.new; Array.new(3); "a" + "b"'
	[ "$(count ' object__create: ')" -ge 1 ] && [ "$(count ' array__create[_0-9]*: ')" -ge 1 ] ||
		fail "ruby: nothing was created"
fi
jvm=$(readlink -f /usr/bin/java 2> /dev/null)
jvm=${jvm%/bin/java}/lib/server/libjvm.so
if program java "$jvm" && readelf -n "$jvm" | grep -q hotspot; then
	java=${jvm%/lib/server/libjvm.so}/bin/java
	run "$jvm:hotspot:gc__begin" "$java" -XX:+ExtendedDTraceProbes -Xmx16m -Xshare:off -version
	run "$jvm:hotspot:thread__start arg1:string arg2 arg3" "$java" -version
	[ "$(count ' thread__start: .* arg1=".+" arg2=[0-9]+ arg3=[0-9]+$')" -ge 3 ] || fail "java: $(count) threads"
	# The length that stands beside says where the name ends.
	run "$jvm:hotspot:class__loaded arg1:string arg2:s32" "$java" -Xshare:off -version
	[ "$(count ' class__loaded: .* arg1="java/lang/Object[^"]*" arg2=16$')" = 1 ] || fail "java: no Object"
	run "$jvm:hotspot*:*" "$java" -version
	[ "$(count)" -ge 100 ] || fail "java: $(count) events of all"
fi
stdcxx=$(g++ -print-file-name=libstdc++.so.6 2> /dev/null)
if program libstdc++ "$stdcxx"; then
	cat > t.cc <<'END'
#include <stdexcept>
int main() {
	for (int i = 0; i < 3; i++)
		try { try { throw std::runtime_error("x"); } catch (...) { throw; } } catch (std::exception &) { }
}
END
	g++ -o throws t.cc || fail "g++"
	run 'libstdcxx:*' "$PWD/throws"
	[ "$(count ' throw: ') $(count ' rethrow: ') $(count ' catch: ')" = "3 3 6" ] || fail "libstdc++: $(events)"
	run 'libstdcxx:throw name=+0(+8(arg2)):string' "$PWD/throws"
	expect_count 3 ' throw: .* name="St13runtime_error"$'
fi
[ -n "$done_any" ] || skip "none of python3.11, php, ruby, java, g++ is here"
echo "seen:$done_any"
