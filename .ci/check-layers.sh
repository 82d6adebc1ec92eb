#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# An engine folder may include itself, the folders before it in this order, and
# arch/arch.h (rooms that handle stopped threads: arch/host.h too).
order='base spec os elf files symbols code dwarf event fetch calls picture sink tally trigger recording apart trace space define returns plant stack hit session'
# The rooms that say what the public interface says, divided by |.
public='session'
rc=0 seen=' '
say() { echo "$*" >&2; rc=1; }
for layer in $order; do
	seen="$seen$layer "
	[ -d "engine/$layer" ] || continue
	for used in $(grep -rhoE '#include "(engine/[a-z]+|cli|tests|arch/[a-z0-9]+)/' "engine/$layer" |
	              sed 's|#include "||; s|^engine/||; s|/$||' | sort -u); do
		case $seen in *" $used "*) continue ;; esac
		say "engine/$layer must not include $used"
	done
	case $layer in
	trace|space|returns|plant|stack|hit|session) ;;
	*) if grep -rl '#include "arch/host.h"' "engine/$layer" >&2; then say "engine/$layer must not touch threads"; fi ;;
	esac
done
for d in engine/*/; do
	d=${d#engine/}
	case " $order " in *" ${d%/} "*) ;; *) say "engine/$d is not in the order of layers" ;; esac
done
# The inside of an ELF file is for those who read it.
if grep -rn '#include "engine/elf/object_priv\.h"' arch engine cli | grep -vE '^engine/(elf|files|symbols|code)/'; then
	say "engine/elf/object_priv.h is for elf, files, symbols and code"
fi
# The public headers (engine/ubp*.h) lie below all rooms. What a caller is told, the session tells; from below it
# needs but the two that are made of one structure each, by way of one header each.
if grep -rnE '#include "(engine/)?ubp[a-z_]*\.h"' arch engine/*/ | grep -vE "^engine/($public)/" |
	grep -vE '^engine/base/(err\.h:[0-9]+:#include "engine/ubp_err|aside\.h:[0-9]+:#include "engine/ubp_until)\.h"$'; then
	say "public headers are for: $public; ubp_err.h for engine/base/err.h, ubp_until.h for engine/base/aside.h"
fi
# arch/ stands beside the engine: it knows base alone.
if grep -rnE '#include "(engine|cli)/' arch | grep -vE '"engine/base/'; then
	say "arch/ may include engine/base only"
fi
# cli/engine is no more than the main() of engine/session/serve.h.
if grep -rnE '#include "engine/' cli | grep -vE '"engine/(ubp[a-z_]*|base/[a-z_]+)\.h"|^cli/engine/main\.c:'; then
	say "cli/ is built on the public headers, engine/ubp*.h, and engine/base alone"
fi
if grep -rnE '^ *# *(if|ifdef|ifndef|elif).*(__x86_64__|__i386__|__aarch64__|__powerpc)' engine cli; then
	say "conditions on the instruction set belong into arch/"
fi
# Names of machines, for messages, are all that is asked of an ELF machine's number.
if grep -rnwE 'EM_[A-Z0-9_]+' engine cli --include='*.[ch]' | grep -vE '^engine/elf/header\.c:|^[^:]*:[0-9]*:.*/\*.*EM_'; then
	say "what differs by ELF machine stands in the instruction set's table (arch/file.h)"
fi
# Another process's memory may never answer (docs/architecture.md): who touches it asks mem_is_sure() first.
if grep -rnE 'process_vm_(readv|writev) ?\(|PTRACE_(PEEK|POKE)(TEXT|DATA)' --include='*.[ch]' arch engine cli |
	grep -vE '^engine/(trace/(mem|direct)\.c|returns/word\.h|returns/in_stack\.c|base/again\.c|code/kernel_uprobe\.c):|^[^:]*:[0-9]*:( \*|/\*)|/\* .*process_vm_readv\(\)'; then
	say "memory of other processes is touched in engine/trace/direct.c and mem.c"
fi
# The top level is fixed: what a test has left there does not get into the tree unseen.
for name in $(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u); do
	case $name in
	.*|GNUmakefile|LICENSE|README.md|arch|cli|docs|engine|fixtures|tests) ;;
	*) say "$name does not belong into the top level" ;;
	esac
done
exit $rc
