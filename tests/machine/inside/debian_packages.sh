# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Inside a fresh Debian 12, beside the packages: they are installed, used and purged.
set -u
export DEBIAN_FRONTEND=noninteractive
fail() { echo "FAIL: $*"; exit 1; }
apt() { apt-get -y -qq --no-install-recommends "$@" > log.txt 2>&1 || fail "apt-get $*: $(tail -n 5 log.txt)"; }
# Every file with its type, mode and owner, as piuparts compares them: but for what apt and dpkg themselves write down.
everything() {
	find / -xdev \( -path /srv -o -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/cache -o -path /var/log -o \
		-path /var/lib/apt -o -path /var/lib/dpkg -o -path "$PWD" \) -prune -o -printf '%p %y %m %u %g %l\n' | sort
}

# They come, with what they need, and go: all is as before.
apt update
everything > before.txt
apt install ./*.deb
everything > with.txt
[ "$(diff before.txt with.txt | grep -c '^>')" -gt 40 ] || fail "hardly anything was installed"
apt purge --autoremove ubp libubp1 libubp-dev ubp-doc
everything > after.txt
diff before.txt after.txt || fail "purge has left something, or taken it away"

apt install ./*.deb
[ "$(dpkg-query -W -f '${db:Status-Status} ' ubp libubp1 libubp-dev ubp-doc)" = 'installed installed installed installed ' ] || fail "not all are installed"

uprobe --version || fail "uprobe does not run"
uprobe 'p:libc:getenv name=+0(%di):string' -- ls / > out.txt 2> err.txt || fail "uprobe: $(cat err.txt)"
grep -q 'getenv: (0x.*name="' out.txt || fail "no events: $(cat out.txt)"
uprobe --complete p:libc:getenv | grep -qx p:libc:getenv || fail "nothing is completed"
for tool in usdt ubp-report ubp-bench ubp-fs; do "$tool" --version || fail "$tool does not run"; done
for file in /usr/libexec/ubp/ubp-engine /usr/share/man/man1/uprobe.1.gz /usr/share/man/man3/libubp.3.gz /usr/lib/systemd/system/ubp@.service \
	/usr/share/bash-completion/completions/uprobe; do
	[ -s "$file" ] || fail "no $file"
done

# A program of somebody's own.
apt install gcc libc6-dev pkg-config
# shellcheck disable=SC2046 # flags are words
gcc -o example example.c $(pkg-config --cflags --libs ubp) || fail "docs/example.c does not build"
mkfifo go ready
bash -c 'read; echo written > /dev/full' < go 2> /dev/null &
exec 3> go
./example $! p:libc:write > out.txt 2> ready &
host=$!
read -r -t 60 line < ready && [ "$line" = ready ] || fail "the example: $line"
grep -qx ubp-engine /proc/[0-9]*/comm || fail "the engine is no process of its own"
echo >&3
wait $host || fail "the example ended with $?"
grep -q 'write: (0x' out.txt || fail "the example has seen nothing: $(cat out.txt)"

# Once more, of packages that were used.
apt purge --autoremove ubp libubp1 libubp-dev ubp-doc gcc libc6-dev pkg-config
everything > after.txt
diff before.txt after.txt || fail "purge has left something, or taken it away, behind their use"
echo "installed, used, purged"
