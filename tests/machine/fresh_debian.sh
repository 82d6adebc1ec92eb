# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The two commands of the README on a fresh Debian 12, in a clone, in a pid namespace: a root made by
# debootstrap with git, make and sudo alone (.ci/fresh.sh). As long as all tests, twice the load.
# test-seconds: 14400
. "${0%/*}/lib.bash"

[ "$(uname -m)" = x86_64 ] || skip "needs x86_64, this is $(uname -m)"
[ "$(id -u)" = 0 ] || skip "needs root"
git -C "$top" rev-parse --is-inside-work-tree > /dev/null 2>&1 || skip "needs a git repository to clone"
commands=$(sed -n '/^## The two commands$/,/^## /s/^\(sudo make [a-z]*\) .*/\1/p' "$top/README.md")
[ "$(wc -l <<< "$commands")" = 2 ] || { echo "FAIL: the README has not two commands: $commands"; exit 1; }
git clone -q "$top" clone || exit 1

"$top/.ci/fresh.sh" clone true 2> err.txt
rc=$?
cat err.txt
[ $rc != 125 ] || skip "NOT PROVED HERE: $(tail -n 1 err.txt)"
# What a reader does: one after the other, the second although the first failed. The first as a user who may sudo, to whom the clone belongs
# and goes on to.
"$top/.ci/fresh.sh" clone bash -c 'rc=0
useradd -m you && echo "you ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/you && chown -R you: . || exit 1
while read -r words; do
	echo "\$ $words"
	case $words in *demo) as=(su you -c "$words") ;; *) as=($words) ;; esac
	"${as[@]}" < /dev/null || { echo "FAIL: $words: exit status $?"; rc=1; }
	case $words in *demo)
		[ "$(find . -user you | wc -l)" -gt 1000 ] || { echo "FAIL: nothing belongs to the user"; rc=1; }
		find . ! -user you | grep . && { echo "FAIL: the demo leaves files of others"; rc=1; }
		chown -R 0:0 . ;;
	esac
done <<< "$1"; exit $rc' bash "$commands"
