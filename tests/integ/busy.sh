# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# What takes long tells so on the terminal, in a line that goes when it is over; messages are above it, and none of it is in a file.
. "${0%/*}/lib.bash"
have tmux

start hello you and me
screen() { tmux -S tmux.socket capture-pane -p | sed 's/ *$//'; }
shows() { screen | grep -qxE -- "$1"; }
hides() { ! shows "$1"; }
tmux -S tmux.socket -f /dev/null new-session -d -x 150 -y 40 "PS1='> ' bash --norc --noprofile"
typed() { tmux -S tmux.socket send-keys -l "$1"; tmux -S tmux.socket send-keys Enter; }
typed "'$UPROBE' -d 5 -p $PID 'p:$FIXTURES/hello:greet name=+0($ARG1):string'; echo status \$?"
eventually shows "uprobe: recording for 5 s, then the result is printed \([0-9]+ s\)"
go; finish
eventually shows 'status 0'
hides 'uprobe: recording .*' || fail "the line stays: $(screen)"
[ "$(screen | grep -c ' greet: .* name="')" = 3 ] || fail "not three events: $(screen)"
typed "'$UPROBE' -d 2 p:$FIXTURES/hello:greet 2> err.txt > out.txt; echo ended \$?"
eventually shows 'ended 0'
! grep -q recording err.txt out.txt || fail "it is in a file: $(cat err.txt out.txt)"
# A process that does not stop is waited for: its thread waits for a child of vfork(), which waits for us.
have gcc
cat > waits.c <<'END'
#include <stdio.h>
#include <unistd.h>
int called(void) { return 0; }
int main(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	if (vfork() == 0) {
		(void)!read(0, &c, 1);
		_exit(0);
	}
	return called();
}
END
gcc -O0 -w -o waits waits.c || fail "gcc"
NAME=waits start "$PWD/waits"
# shellcheck disable=SC2154 # set by start
typed "'$UPROBE' -p $PID_waits 'p:$PWD/waits:called'; echo given up \$?"
eventually shows 'uprobe: planting \([0-9]+ s\)'
eventually shows 'given up 1'
hides 'uprobe: planting .*' || fail "the line stays: $(screen)"
shows "uprobe: error: no thread of process $PID_waits could be stopped" || fail "no message: $(screen)"
go waits; finish waits
# A debug information server that takes its time is named.
cat > server.py <<'END'
import http.server, threading
asked = threading.Event()
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.wait(5)
        self.send_error(404)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_port, flush=True)
server.serve_forever()
END
mkfifo port
python3 server.py > port &
server=$!
read -r number < port
ldconfig -p | grep -q libdebuginfod.so.1 || { kill $server; skip "no libdebuginfod here"; }
cp "$FIXTURES/hello" stripped && objcopy --strip-all stripped
typed "DEBUGINFOD_CACHE_PATH=$PWD/cache DEBUGINFOD_URLS=http://127.0.0.1:$number '$UPROBE' p:./stripped:greet -- ./stripped; echo over \$?"
eventually shows 'uprobe: looking for p:./stripped:greet, at DEBUGINFOD_URLS \(DEBUGINFOD_TIMEOUT limits that\) \([0-9]+ s\)'
eventually shows 'over 1'
hides 'uprobe: looking .*' || fail "the line stays: $(screen)"
shows "uprobe: error: no function 'greet' in .*" || screen | grep -q "no function 'greet'" || fail "no message: $(screen)"
typed "DEBUGINFOD_CACHE_PATH=$PWD/cache2 DEBUGINFOD_URLS=http://127.0.0.1:$number '$UPROBE' -l ./stripped; echo listed \$?"
eventually shows 'uprobe: reading ./stripped, at DEBUGINFOD_URLS \(DEBUGINFOD_TIMEOUT limits that\) \([0-9]+ s\)'
eventually shows 'listed 0'
hides 'uprobe: reading .*' || fail "the line stays: $(screen)"
kill $server
tmux -S tmux.socket kill-server
