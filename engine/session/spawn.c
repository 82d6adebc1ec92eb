/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * posix_spawn(), and with it system() and popen(), runs its child in the parent's
 * memory until the exec, with every signal blocked and every handler reset: there
 * a breakpoint's SIGTRAP can only kill once there is no tracer to take it. If ubp
 * were killed, each later child would die. So no breakpoint is planted on what
 * runs there: the functions that single-stepping such children showed, in glibc
 * 2.36 and musl 1.2.3, with every attribute and file action. Not among them is
 * _exit(), after an exec that failed: the parent knows already.
 */

#include <errno.h>
#include <string.h>

#include "engine/session/session.h"

static const char *const in_glibc[] = {
	/* attributes: signals, scheduling, group, session, ids */
	"__libc_sigaction", "sigprocmask", "pthread_sigmask", "sched_setparam",
	"sched_setscheduler", "setpgid", "getpgid", "setsid", "getuid", "getgid",
	/* file actions */
	"__open_nocancel", "__open64_nocancel", "__close_nocancel", "dup2", "fcntl",
	"__libc_fcntl64", "ioctl", "chdir", "fchdir", "tcsetpgrp",
	/* the exec; posix_spawnp() looks through PATH */
	"execve", "getenv", "strchr", "strchrnul", "strlen", "strncmp", "strnlen", "mempcpy",
	"__libc_alloca_cutoff",
	/* local, where the symbols are kept */
	"__spawni_child", "__execvpex", NULL
};

static const char *const in_musl[] = { "__errno_location", "close", "execve", "execvpe",
				       "getenv", "memchr", "memcpy", "pthread_sigmask",
				       "sigismember", "strchr", "strchrnul", "strncmp",
				       "strnlen",
				       /* local */
				       "__libc_sigaction", "__execvpe", NULL };

int spawn_check(const struct ubp_session *s, struct session_file *file,
		const struct spec_probe *spec, struct ubp_err *err)
{
	const char *const *names;
	struct object_symbol at;
	uint64_t elf_vaddr;

	/* Which file is a C library? The one that has posix_spawn(), static or not. */
	if (s->opt.force || object_symbol_value(file->object, "posix_spawn", &elf_vaddr) < 0 ||
	    object_function_at(file->object, spec->offset, &at) < 0)
		return 0;
	names = object_symbol_value(file->object, "gnu_get_libc_version", &elf_vaddr) == 0
			? in_glibc
			: in_musl;
	for (size_t i = 0; names[i]; i++) {
		/* By value: aliases. By name: an IFUNC's implementation is nobody's alias. */
		if ((object_symbol_value(file->object, names[i], &elf_vaddr) < 0 ||
		     elf_vaddr != at.elf_vaddr) &&
		    !(spec->symbol && strcmp(spec->symbol, names[i]) == 0))
			continue;
		return ubp_fail(
			err, ENOTSUP,
			"%s runs in children of posix_spawn(), system() and popen() where "
			"nothing can guard a breakpoint: if ubp were killed, they all would "
			"die (--force plants anyway)",
			names[i]);
	}
	return 0;
}
