# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""bash: readline on a terminal, and its insides while it runs a script."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare  # noqa: E402

SCRIPT = r"""
set -e
x=1
add() { local a=$1 b=$2; echo $((a + b)); }
for i in 1 2 3 4 5; do x=$(add $x $i); done
echo "x is $x"
case $x in 1*) echo one ;; *) echo other ;; esac
a=(one two three); echo "${a[@]:1}" "${#a[*]}" "${a[0]^^}"
cat <<END | { read -r first rest; echo "$rest $first"; }
alpha beta gamma
END
/bin/echo from a child
( exit 3 ) || echo "status $?"
printf '%s|%d\n' text 42
trap 'echo leaving' EXIT
"""


def have(elf, names):
    """Not every build of bash keeps every function."""
    return [n for n in names if n in elf.symbols]


if __name__ == "__main__":
    if not os.path.exists("/bin/bash"):
        oracle.skip("needs bash")
    bash = oracle.private("/bin/bash")
    elf = oracle.Elf(bash)
    if not have(elf, ["readline"]):
        oracle.skip("this bash does not export readline")
    typed = [(b"$ ", line) for line in (b"echo one\n", b"x=42\n", b"echo \"$x\"\n", b"\n", b"exit 3\n")]
    prompt = {"PS1": "$ ", "INPUTRC": "/dev/null", "HISTFILE": "/dev/null"}
    interactive = [
        f"r:readline {bash}:readline line=+0($retval):string $retval:x64",
        f"p:readline_in {bash}:readline prompt=+0(%di):string",
        *(f"p:{n} {bash}:{n} %di %si" for n in have(elf, ["add_history", "parse_command", "rl_initialize"])),
        *(f"r:{n}_ret {bash}:{n} $retval:s32" for n in have(elf, ["parse_command", "execute_command"])),
    ]
    inside = [
        f"p:find_variable {bash}:find_variable name=+0(%di):string",
        f"r:find_variable_ret {bash}:find_variable $retval",
        f"p:evalexp {bash}:evalexp text=+0(%di):string",
        f"r:evalexp_ret {bash}:evalexp $retval:s64",
        *(f"p:{n} {bash}:{n} s=+0(%di):string" for n in have(elf, [
            "find_function", "find_shell_builtin", "legal_identifier", "all_digits", "bind_variable",
            "search_for_command", "quote_escapes", "dequote_string", "savestring"])),
        *(f"p:{n} {bash}:{n} %di %si" for n in have(elf, [
            "execute_command_internal", "make_child", "copy_word_list", "dispose_words", "xmalloc",
            "xfree", "expand_word", "list_length", "do_redirections", "run_exit_trap"])),
        *(f"r:{n}_ret {bash}:{n} $retval" for n in have(elf, [
            "execute_command_internal", "xmalloc", "list_length", "do_redirections"])),
        *(f"r:{n}_ret {bash}:{n}" for n in have(elf, ["make_child"])),  # its value is a pid
    ]
    # Its parent is another each time, and so may be how many digits $PPID has: a text made on the
    # stack, backwards.
    digits = (rb"arg1=0x[3-8] arg2=0x7ff\w+$", b"DIGITS")
    script = os.path.abspath("script")
    with open(script, "w", encoding="ascii") as f:
        f.write(SCRIPT)
    oracle.done([
        compare(interactive, [bash, "--norc", "--noprofile", "-i"], title="bash readline",
                env=prompt, script=typed, ignore_comm=True),
        compare(inside, [bash, "--norc", script], title="bash script",
                masks=[digits], ignore_comm=True, at_least=500),
    ])
