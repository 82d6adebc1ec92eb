# SPDX-License-Identifier: LGPL-2.1-or-later
# Command lines that make no sense: one line, where to find help, exit status 2,
# nothing on standard output. Help and version: on standard output, status 0.
. "${0%/*}/lib.bash"

usage 'no definition is given'
usage "unknown option '-x'" -x
usage "unknown option '-x'" -Hx p:libc:getenv
usage "unknown option '--bogus'" --bogus
usage "option '-d' needs an argument" -d
usage "option '--filter' needs an argument" -e p:libc:getenv --filter
usage "option '--json=yes' takes no argument" --json=yes p:libc:getenv
usage '-l takes a target, and perhaps a pattern, only' -l libc a b
usage '-l takes a target, and perhaps a pattern, only' -l libc -d 1
usage '-l takes one process' -l libc -p 1,2
usage "-p takes process ids and names, not '1,,x'" -p 1,,x p:libc:getenv
usage "-p takes process ids and names, not '0'" -p 0 p:libc:getenv
usage "-p takes process ids and names, not '1,'" -p 1, p:libc:getenv
usage "-p takes process ids and names, not '99999999999999999999'" -p 99999999999999999999 p:libc:getenv
usage "a thread id is a number, not 'main'" -L main p:libc:getenv
usage "-d takes seconds, not '0'" -d 0 p:libc:getenv
usage "-d takes seconds, not '-1'" -d -1 p:libc:getenv
usage "-d takes seconds, not '1s'" -d 1s p:libc:getenv
usage "-n takes a number of events, not '0'" -n 0 p:libc:getenv
usage "--mode takes auto, jump, trap or step, not 'fast'" --mode fast p:libc:getenv
usage "--clock takes mono, mono_raw, boot or real, not 'x86-tsc'" --clock x86-tsc p:libc:getenv
usage "--buffer-size takes KiB from 1 to 1048576, not '0'" --buffer-size 0 p:libc:getenv
usage "--ready-fd takes an open descriptor, not '77'" --ready-fd 77 p:libc:getenv
usage 'a filter comes after the definition it is for' --filter 'a == 1' p:libc:getenv
usage "more than one filter for 'p:libc:getenv'" p:libc:getenv 'a == 1' --filter 'a == 1'
usage "'c' is one word too many (a definition with arguments is quoted as one word)" a b c
usage "no command after '--'" p:libc:getenv --
usage 'a command excludes -p and -L' -p 1 p:libc:getenv -- true
usage '-d is for tracing: it excludes -v, --check, --definition and --explain' -v -d 1 p:libc:getenv
usage '--count, --hist and --sum exclude each other' --count --hist p:libc:getenv
usage '--count=comm says what is counted by: it excludes --by' --count=comm --by=pid p:libc:getenv
usage '--count= takes what is counted by: --count=comm' --count= p:libc:getenv
usage '--top is for --count and --sum: a histogram has all its rows' --hist --top 3 p:libc:getenv
usage "--hist=ARG:STEP takes a step from 1, as 64 or 4KiB, not '0'" --hist=size:0 'p:libc:malloc size=%di'
usage 'no stack is printed of hits that are counted; --count=ustack counts by stack' -s --count p:libc:getenv
usage '-n is for events: it excludes --allocates' -n 3 -e 'r:libc:malloc p=$retval' --allocates=p
usage '--csv is for events: it excludes --allocates' --csv -e 'r:libc:malloc p=$retval' --allocates=p
usage 'a heap profile is no metric yet: --otlp excludes --allocates' --otlp x -e 'r:libc:malloc p=$retval' --allocates=p
usage '--snapshot-after is for --trigger snapshot' --snapshot-after 5 p:libc:getenv
usage '--every is for --count, --hist and --sum' --every 1 p:libc:getenv
usage "--every takes seconds, not 'x'" --count --every x p:libc:getenv
usage "--top takes a number of lines, from 1, not '0'" --top 0 p:libc:getenv
usage '-n is for events: it excludes --count, --hist and --sum' -n 1 --count p:libc:getenv
usage 'hits that are counted are no events: --trigger excludes --count, --hist and --sum' --count -e p:libc:getenv --trigger traceoff
usage "--prometheus takes PORT, ADDR:PORT or [ADDR6]:PORT, not 'host:80'" --prometheus host:80 p:libc:getenv
usage '--prometheus is for tracing: it excludes -v, --check, --definition and --explain' --prometheus 80 --check p:libc:getenv
usage 'histograms are text or --json: --trigger hist excludes --csv' --csv -e p:libc:getenv --trigger hist:keys=common_pid
usage '--otlp says where events go: it excludes -o' --otlp x -o y p:libc:getenv
usage '--otlp says where events go: it excludes --record' --otlp x --record y p:libc:getenv
usage '--otlp has a form of its own: it excludes --json' --json --otlp x p:libc:getenv
usage '-H is for text: it excludes --json' -H --json p:libc:getenv
usage '--csv is for events: it excludes --count, --hist and --sum' --csv --count p:libc:getenv
usage 'nothing can be appended to what --chrome writes' --chrome --append -o x p:libc:getenv
usage '--ctf writes a folder: give its name with -o' --ctf p:libc:getenv
usage '--json has a form of its own: it excludes --csv' --csv --json p:libc:getenv

# What those who come from elsewhere try.
usage '-l takes a target, or a process (-p)' -l
usage '-l takes a target, or a process (-p)' -l --explain
usage '--vars takes a target, too: --vars=main TARGET' --vars main
usage '--lines-of takes a target, too: --lines-of=main TARGET' --lines-of main
usage "'uprobe:/bin/bash:readline' is bpftrace's; here it is 'p:/bin/bash:readline'" uprobe:/bin/bash:readline
usage "'uretprobe:/bin/bash:readline' is bpftrace's; here it is 'r:/bin/bash:readline'" \
	'uretprobe:/bin/bash:readline { print(1); }'
usage "'+0(\$retval):string' is no filter; arguments stand in the definition's quotes: 'r:bash:readline +0(\$retval):string'" \
	r:bash:readline '+0($retval):string'
usage "'n=%di' is no filter; arguments stand in the definition's quotes: 'p:libc:getenv n=%di'" p:libc:getenv n=%di
usage "'ls' is no filter; arguments stand in the definition's quotes, a command behind '--'" p:libc:getenv ls
"$UPROBE" --check "p:libc:getenv n=$ARG1" n==1 > out.txt || fail "a filter is a filter"

for opt in -h --help; do
	"$UPROBE" $opt > help.txt 2> err.txt || fail "$opt: exit status $?"
	[ ! -s err.txt ] || fail "$opt: something on standard error"
	grep -q '^Usage: uprobe \[-FhHsv\] \[-d SECS\]' help.txt || fail "$opt: no usage"
done
# Who opens a manual wants to see a command first.
for page in "$UBP_SRC"/docs/man/*.[13]; do
	grep '^\.SH ' "$page" | grep -A 1 '^\.SH SYNOPSIS' | grep -qx '\.SH EXAMPLES' || fail "${page##*/} does not begin with examples"
done
# The table that parses is the one that is printed, and all of it is in the manual: in an
# option's heading, and in an example (a line with "$ ") below it or elsewhere. Short options, too.
for tool in "$UPROBE" "$USDT"; do
	name=${tool##*/} n=0
	"$tool" --help > help.txt || fail "$name --help: $?"
	sed 's/\\f[BRIP]//g; s/\\-/-/g' "$UBP_SRC/docs/man/$name.1" > man.txt
	# "  -d, --duration=SECS" -> "-d --duration"
	sed -nE 's/^ {2,6}(-[^ ,]+)(, (--[^ =]+))?.*/\1 \3/p' help.txt | sed 's/=[^ ]*//' > options.txt
	[ "$(wc -l < options.txt)" -ge 30 ] || fail "$name --help: $(wc -l < options.txt) options"
	while read -r -a spellings; do
		shown=
		for opt in "${spellings[@]}"; do
			n=$((n + 1))
			grep -qE -- "^\.BR? (.*[^a-zA-Z-])?$opt([^a-zA-Z-]|$)" man.txt || fail "$name.1 is silent about $opt"
			case $opt in
			--*) grep -qE -- "^[$] .*\b$name .*$opt([= ]|$)" man.txt && shown=1 ;;
			*) grep -qE -- "^[$] .*\b$name .* -[a-zA-Z]*${opt#-}[a-zA-Z]*( |$)|^[$] $name -[a-zA-Z]*${opt#-}[a-zA-Z]*( |$)" man.txt && shown=1 ;;
			esac
		done
		[ "$shown" ] || fail "$name.1 has no example of ${spellings[*]}"
	done < options.txt
	[ $n -ge 40 ] || fail "$name: $n spellings only"
done

"$UPROBE" --version > out.txt || fail "--version: exit status $?"
grep -Eq '^uprobe [0-9]+\.[0-9]+' out.txt || fail "no version"
"$UPROBE" --help > /dev/full 2> err.txt && fail "help that nobody got is no success"
grep -qx 'uprobe: error: standard output: No space left on device' err.txt || fail "no word of it"
exit 0
