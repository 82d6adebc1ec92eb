# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A word that somebody types in bash, zsh or fish is completed: options by their tables, values, processes, programs and libraries, functions, static
# probes. What is installed is gone when it is uninstalled.
. "${0%/*}/lib.bash"

# becomes WANTED WORD...: the last one may become all of WANTED, in this order.
becomes() {
	local want=$1
	shift
	"$UPROBE" --complete "$@" > told.txt 2> err.txt && [ ! -s err.txt ] || fail "--complete $*: $(cat err.txt)"
	[ "$(cut -f 1 told.txt | tr '\n' ' ')" = "$want" ] || fail "$*: not $want, but $(cat told.txt)"
}
shell_knows() {
	local want=$1
	shift
	[ "$("$UPROBE" --complete "$@")" = "$(printf '\t%s\t%s' $want)" ] || fail "$*: not $want"
}
becomes 'p: r: ' ''
becomes 'p: ' p
becomes '--mode= ' --mo
becomes '--mode=auto --mode=jump --mode=trap --mode=step ' --mode=
becomes 'trap ' --mode tr
becomes '--count=comm,pid ' --count=comm,pi
becomes 'fp ' -H --stack f
becomes 'p:libc:fopen p:libc:fopen64 p:libc:fopencookie ' p:libc:fopen
becomes 'p:x libc:fopen p:x libc:fopen64 p:x libc:fopencookie ' 'p:x libc:fopen'
becomes '' 'p:libc:fopen a'
becomes '' 'p:no_such_target:f'
becomes '' p:libc:fopen '' # a filter
becomes 'libcmocka ' -l libcmock
becomes 'p:libcmocka: ' p:libcmock
shell_knows 'files ' -o ''
shell_knows 'files --output=' --output=x
shell_knows 'files p:' p:./x
shell_knows 'commands ' p:libc:fopen -- l
shell_knows 'files ' p:libc:fopen -- ls x
# Each option of --help, and no other.
for tool in "$UPROBE" "$USDT" "$UBP_REPORT"; do
	"$tool" --help | sed -nE 's/^  (-., |    )(--[a-z-]+).*/\2/p' | sort -u > help.txt
	"$tool" --complete -- - | cut -f 1 > told.txt
	! grep -q . told.txt || fail "${tool##*/}: options behind --"
	"$tool" --complete - | cut -f 1 | tr -d = | grep -- -- | sort > told.txt
	diff help.txt told.txt || fail "${tool##*/}: other options"
done

start hello you
"$UPROBE" --complete -p "1,${PID%?}" > told.txt
grep -qx "1,$PID"$'\thello' told.txt || fail "process $PID is not told: $(cat told.txt)"
"$UPROBE" --complete p:hel | grep -qx p:hello: || fail "a program that runs is not told"
becomes 'hello ' -p hell
becomes 'root ' -u roo
becomes 'delta ' --time del
"$UPROBE" --complete --pid "${PID%?}" | grep -q "^$PID" || fail "--pid: not told"
"$UPROBE" --session "typed-$$" --detach -o session.txt -p "$PID" "p:$FIXTURES/hello:greet" 2> err.txt || fail "no session: $(cat err.txt)"
becomes "typed-$$ " --session "typed-$$"
"$UPROBE" --session "typed-$$" --end
becomes '' --session "typed-$$"
go; finish
become=$("$USDT" --complete "$FIXTURES/usdt:")
[[ $become == *"$FIXTURES/usdt:"*:* ]] || fail "no static probes: $become"

# A name that a terminal would obey, or the shell, is none's to choose: it is not told.
cp "$FIXTURES/hello" $'evil\e]0;title\a' || fail "cp"
mkfifo evil.fifo
./evil* you < evil.fifo > evil.txt &
evil=$!
exec 7> evil.fifo
eventually grep -q ready evil.txt
becomes '' -p evil
kill "$evil"

# What `make install` does, undone.
make -s -C "$UBP_SRC" -o all B="$UBP_BUILD" DESTDIR="$PWD/root" install > make.txt 2>&1 || fail "make install: $(cat make.txt)"
share=$PWD/root/usr/local/share
[ -s "$share/bash-completion/completions/uprobe" ] && [ -s "$share/fish/vendor_completions.d/usdt.fish" ] && [ -s "$share/zsh/site-functions/_ubp" ] ||
	fail "completions are not installed"
cp -r "$share" share
make -s -C "$UBP_SRC" B="$UBP_BUILD" DESTDIR="$PWD/root" uninstall > make.txt 2>&1 || fail "make uninstall: $(cat make.txt)"
left=$(find root ! -type d)
[ -z "$left" ] || fail "left by uninstall: $left"
left=$(find root -type d -name '*ubp*')
[ -z "$left" ] || fail "folders of our own are left by uninstall: $left"

# In shells. typed WANT KEYS: they are typed and completed.
have tmux bash zsh fish
PATH=$(dirname "$UPROBE"):$PATH
screen() { tmux -S tmux.$shell capture-pane -p; }
shows() { local line="> $1"; screen | sed 's/ *$//' | grep -qxF -- "${line% }"; }
says() { screen | grep -qx -- "$1"; }
begin() {
	tmux -S tmux.$shell -f /dev/null new-session -d -x 150 -y 40 "$1"
	tmux -S tmux.$shell send-keys -l "$2; echo begun"
	tmux -S tmux.$shell send-keys Enter
	eventually says begun
}
typed() {
	tmux -S tmux.$shell send-keys -l "$2"
	tmux -S tmux.$shell send-keys Tab
	eventually shows "$1"
	tmux -S tmux.$shell send-keys C-u
	eventually shows ''
}
cp "$FIXTURES/hello" completed
start "$PWD/completed"
for shell in bash bash_without zsh fish; do
	case $shell in
	bash_without) begin "PS1='> ' bash --norc --noprofile" "COMP_WORDBREAKS=\${COMP_WORDBREAKS//:}; source $PWD/share/bash-completion/completions/uprobe" ;;
	bash) begin "PS1='> ' bash --norc --noprofile" "for i in uprobe usdt ubp-report; do source $PWD/share/bash-completion/completions/\$i; done" ;;
	zsh) begin "PS1='> ' zsh -f" "fpath=($PWD/share/zsh/site-functions \$fpath); autoload -Uz compinit; compinit -u -D" ;;
	fish) begin "fish --no-config" "function fish_prompt; echo '> '; end; for i in uprobe usdt ubp-report; source $PWD/share/fish/vendor_completions.d/\$i.fish; end" ;;
	esac
	typed "uprobe p:libc:fopencookie" "uprobe p:libc:fopenc"
	typed "uprobe 'p:libc:fopencookie'" "uprobe 'p:libc:fopenc"
	typed "uprobe --mode=" "uprobe --mod"
	typed "uprobe --mode=trap" "uprobe --mode=tr"
	typed "uprobe -H --mode trap" "uprobe -H --mode tr"
	typed "uprobe -o /etc/hostname" "uprobe -o /etc/hostn"
	typed "uprobe --output=/etc/hostname" "uprobe --output=/etc/hostn"
	typed "uprobe '--output=/etc/hostname'" "uprobe '--output=/etc/hostn"
	typed "uprobe p:/etc/hostname" "uprobe p:/etc/hostn"
	typed "uprobe 'p:/etc/hostname'" "uprobe 'p:/etc/hostn"
	typed "uprobe p:libc:fopen -- mkfifo" "uprobe p:libc:fopen -- mkfif"
	typed "uprobe -p completed" "uprobe -p complet"
	[ $shell = bash_without ] || typed "usdt --mode=" "usdt --mod"
	[ $shell = bash_without ] || typed "ubp-report --chrome" "ubp-report --chro"
	tmux -S tmux.$shell kill-server
done
