# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Other tests once more, with their fixtures built for 32 bits: the same functions, whose
# arguments are on the stack. I386_TESTS="NAME..." picks some.
# NAME:12 is one whose functions have a first argument of 64 bits: where the second one is.
. "${0%/*}/lib.bash"

need_arch x86_64
[ -x "${UBP_BUILD:?}/fixtures32/hello" ] || skip "gcc cannot build for 32 bits (gcc-12-multilib)"
"$UBP_BUILD/fixtures32/exit_code" exit || skip "this kernel runs no 32-bit programs"

# Definitions as the tests have them, with the registers that arguments of 64-bit programs come in.
# Another type than the default, which has 64 bits, where there is none; a long has 32.
cat > on_stack.py <<'PY'
import os, re, sys
words = {"di": 4, "si": 8, "dx": 12, "cx": 16, "r8": 20, "r9": 24}
if os.environ.get("SECOND"):
    words["si"] = int(os.environ["SECOND"])
def translate(arg):
    if not re.search(r"%(di|si|dx|cx|r8|r9)\b|\$retval:", arg):
        return arg
    arg = re.sub(r"=%(di|si|dx|cx|r8|r9)(?=$|\s)", lambda m: "=+%d(%%sp):x32" % words[m[1]], arg)
    if not os.environ.get("SECOND"):
        arg = re.sub(r":([sux])64\b", r":\g<1>32", arg)
    return re.sub(r"%(di|si|dx|cx|r8|r9)\b", lambda m: "+%d(%%sp)" % words[m[1]], arg)
args = sys.argv[2:]
own = args.index("--") if "--" in args else len(args)
os.execv(sys.argv[1], [sys.argv[1]] + [translate(a) for a in args[:own]] + args[own:])
PY
printf '#!/bin/sh\nexec python3 %s %s "$@"\n' "$PWD/on_stack.py" "$UPROBE" > uprobe
chmod 755 uprobe

bad=0 n=0
for name in ${I386_TESTS:-attach attach_rounds blocked children children_left clone_vm_pair \
	cpp_exceptions detach:12 dlopen endings exec_thread hidden_unwinder job_control \
	kept_apart killed:12 later leader_gone leave many_threads raise_trap recursion restarts rt_signals semaphore several \
	signals throw traced_by_other}; do
	case $name in *:*) second=${name#*:} name=${name%:*} ;; *) second= ;; esac
	mkdir "$name" || fail "mkdir"
	(cd "$name" && SECOND=$second UPROBE=$OLDPWD/uprobe FIXTURES=$UBP_BUILD/fixtures32 \
		timeout 300 bash "${0%/*}/$name.sh" > log 2>&1)
	case $? in
	0) n=$((n + 1)) ;;
	77) echo "$name skipped: $(tail -n 1 "$name/log")" ;;
	*) bad=$((bad + 1)); echo "--- $name"; tail -n 25 "$name/log" ;;
	esac
done
[ $bad = 0 ] || fail "$bad tests, $n passed"
