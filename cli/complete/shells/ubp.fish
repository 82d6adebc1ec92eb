# SPDX-License-Identifier: LGPL-2.1-or-later
# Completions of ubp's commands for fish. The commands know what a word may become (cli/complete/complete.h).

function __ubp_complete
    set -l words (commandline -opc)
    set words[1] (string replace -r '^~/' $HOME/ -- $words[1])
    type -q $words[1]; or return
    set -l word (commandline -ct | string unescape 2> /dev/null; or commandline -ct)
    $words[1] --complete $words[2..] "$word" 2> /dev/null | while read -l --delimiter \t value told lead
        if test -n "$value"
            printf '%s\t%s\n' $value $told
        else if test "$told" = commands
            complete -C "$word"
        else
            set -l name (string sub -s (math 1 + (string length -- "$lead")) -- "$word")
            set -l names
            if test "$told" = folders
                set names (__fish_complete_directories "$name")
            else
                set names (__fish_complete_path "$name")
            end
            test (count $names) -eq 0; or printf '%s\n' $lead$names
        end
    end
end

for command in uprobe usdt ubp-report ubp-bench ubp-fs
    complete -c $command -f -k -a '(__ubp_complete)'
end
