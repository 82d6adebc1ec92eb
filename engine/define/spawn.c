/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * posix_spawn(), and with it system() and popen(), runs its child in the parent's
 * memory until the exec, with every signal blocked and every handler reset: there
 * a breakpoint's SIGTRAP can only kill once there is no tracer to take it. Where the
 * guard finds the system calls by which the C library does that (glibc), it keeps
 * SIGTRAP out of it. Elsewhere, if ubp were killed, each later child would die: no
 * breakpoint is planted on what runs there, the functions that single-stepping such
 * children showed, in musl 1.2.3, with every attribute and file action. Not among
 * them is _exit(), after an exec that failed: the parent knows already.
 */

#include "engine/define/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/code/hook_call.h"
#include "engine/define/state.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

static const char *const in_spawn[] = { "__errno_location", "close", "execve", "execvpe",
					"getenv", "memchr", "memcpy", "pthread_sigmask",
					"sigismember", "strchr", "strchrnul", "strncmp",
					"strnlen",
					/* local */
					"__libc_sigaction", "__execvpe", NULL };

#define CHUNK 0x10000

/* Is such a call among these @len bytes, which are at @from in the file, in its code? */
static bool has_call_in(const struct object *object, const uint8_t *call, const uint8_t *buf,
			size_t len, uint64_t from)
{
	const uint8_t *at = buf;
	size_t more;

	while ((at = hook_call_find(object_arch(object), call, at, buf + len, &more)))
		if (object_is_executable(object, from + (uint64_t)(at++ - buf)))
			return true;
	return false;
}

static bool has_call(const struct object *object, const uint8_t *call)
{
	uint8_t *buf = malloc(CHUNK);
	bool found = false;
	ssize_t got;

	for (uint64_t at = 0; buf && !found; at += (uint64_t)got - UBP_SIGACTION_LOOK) {
		got = object_read(object, at, buf, CHUNK);
		if (got <= UBP_SIGACTION_LOOK)
			break;
		found = has_call_in(object, call, buf, (size_t)got, at);
	}
	free(buf);
	return found;
}

/* Are all ways there by which it changes signal actions and masks? */
static bool is_hooked(const struct object *object)
{
	const struct ubp_arch *arch = object_arch(object);
	bool all = arch && arch->guard.code;

	for (unsigned i = 0; all && i < arch->hook.n_calls; i++)
		all = has_call(object, arch->hook.calls[i]);
	return all;
}

int spawn_check(const struct definitions *defs, struct definition_file *file,
		const struct spec_probe *spec, struct ubp_err *err)
{
	struct object_symbol at;
	uint64_t elf_vaddr;

	/* Which file is a C library? The one that has posix_spawn(), static or not. */
	if (defs->opt.force ||
	    object_symbol_value(file->object, "posix_spawn", &elf_vaddr) < 0 ||
	    object_function_at(file->object, spec->offset, &at) < 0)
		return 0;
	for (size_t i = 0; in_spawn[i]; i++) {
		/* By value: aliases. By name: an IFUNC's implementation is nobody's alias. */
		if ((object_symbol_value(file->object, in_spawn[i], &elf_vaddr) < 0 ||
		     elf_vaddr != at.elf_vaddr) &&
		    !(spec->symbol && strcmp(spec->symbol, in_spawn[i]) == 0))
			continue;
		if (is_hooked(file->object))
			return 0; /* a look through the whole file: only for these */
		return ubp_fail(
			err, ENOTSUP,
			"%s runs in children of posix_spawn(), system() and popen() where "
			"nothing can guard a breakpoint: if ubp were killed, they all would "
			"die (--force plants anyway)",
			in_spawn[i]);
	}
	return 0;
}
