# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# C++ programs that carry their unwinder with them. With symbols it is found by its
# name; stripped, returns are caught at ret instructions: exceptions arrive either way.
. "${0%/*}/lib.bash"
command -v g++ > /dev/null || skip "no C++ compiler"

build() { ${FIX_CXX:-g++} -O1 -fno-inline -pthread "$@" "$UBP_SRC/fixtures/throw.cc" -ldl 2> build.err || fail "$(cat build.err)"; }
sum() { grep -o " $1=[0-9]*" err.txt | awk -F= '{ n += $2 } END { print n + 0 }'; }
run() { # SYMBOLS FILE HOW WAY N
	local f offset said defs=()
	for f in frame frame2 in_destructor in_handler; do
		offset=$("$UPROBE" --check -e "p:g/x $PWD/$1:$f" | sed 's/.*:0x0*/0x/')
		defs+=(-e "p:t/$f $PWD/$2:$offset n=$ARG1:s64" -e "r:t/${f}_ret $PWD/$2:$offset \$retval:s64")
	done
	"$UPROBE" --stats --lossless -o out.txt "${defs[@]}" -- "./$2" "$4" "$5" <<< go > stdout.txt 2> err.txt ||
		fail "$*: ended with $?: $(cat stdout.txt err.txt)"
	said=$(sed -n 's/^entered \([0-9]*\) returned \([0-9]*\)$/\1 \2/p' stdout.txt)
	set -- "$@" $said
	[ "$(count ' (frame2?|in_[a-z]*): ')" = "$6" ] || fail "$*: not all entries"
	[ "$(count '_ret: ')" = "$7" ] || fail "$*: $(count '_ret: ') returns"
	[ "$(sum "$3")" -ge 4 ] || fail "$*: returns not caught by $3: $(cat err.txt)"
	[ "$3" = at_rets ] || [ "$(sum missed)" = $(($6 - $7)) ] || fail "$*: $(cat err.txt)"
}
build -static -o static
strip -o static_s static
build -static-libgcc -static-libstdc++ -rdynamic -o partly
strip -o partly_s partly
for way in "nested 50" "threads 50" "pthread 20" "coroutines 3"; do
	run static static hijacked $way
	run static static_s at_rets $way
done
run partly partly hijacked nested 50
"$UPROBE" --check --explain -e "r:t/frame $PWD/static_s:$("$UPROBE" --check -e "p:g/x $PWD/static:frame" | sed 's/.*:0x0*/0x/')" > explain.txt
grep -q 'on [1-9] ret instruction' explain.txt || fail "$(cat explain.txt)"
# What a separate file knows of names helps to find functions, but no unwinder.
for from in "--symbols static" "--debug-dir debug"; do
	[ "${from% *}" = --symbols ] || { objcopy --only-keep-debug static static.debug && mkdir -p debug && mv static.debug debug &&
		objcopy --add-gnu-debuglink=debug/static.debug static_s; } || fail "objcopy"
	# shellcheck disable=SC2086 # two words
	"$UPROBE" --stats --lossless $from -o out.txt -e "r:t/frame_ret $PWD/static_s:frame \$retval:s64" \
		-e "r:t/frame2_ret $PWD/static_s:frame2" -- ./static_s nested 50 <<< go > stdout.txt 2> err.txt ||
		fail "$from: ended with $?: $(cat stdout.txt err.txt)"
	[ "$(sum at_rets)" -ge 2 ] || fail "$from: returns not caught at ret instructions: $(cat err.txt)"
	# shellcheck disable=SC2086
	refused '[$]duration of static_s:.* cannot be told' $from --check -e "r:t/frame $PWD/static_s:frame \$duration"
done
# How long a call takes is not known there, whichever file says so.
refused '[$]duration of static_s:.* cannot be told' \
	-e "r:t/frame $PWD/static_s:$("$UPROBE" --check -e "p:g/x $PWD/static:frame" | sed 's/.*:0x0*/0x/') \$duration" -- ./static_s nested 1
build -static-libgcc -static-libstdc++ -o hidden
strip hidden
start "$PWD/hidden" nested 1
refused 'getppid: [$]duration cannot be told in process' -p "$PID" -e 'r:t/x libc:getppid $duration'
go
finish
