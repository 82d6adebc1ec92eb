/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What definitions are made by. */

#ifndef UBP_DEFINE_OPTIONS_H
#define UBP_DEFINE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/files/debug_options.h"
#include "engine/space/uprobe.h"

struct sample_text;
struct ubp_arch;
struct ubp_until;

/* Strings and lists stay whose they are, and must last as long as the definitions, but for .pids. */
struct definitions_options {
	/* Of this machine, and whether programs of another can be traced on it. */
	const struct ubp_arch *arch;
	bool (*traces)(const struct ubp_arch *arch);
	bool strict;       /* the kernel's grammar only */
	bool tells_faults; /* of numbers, too */
	bool force;        /* override refusals where that can make sense */
	/* Only looked at: also files of machines that are not traced here. */
	bool files_only;
	/* No jump where a kernel's uprobe that comes later would break it. */
	bool beside_kernel;
	/* Breakpoints single-step their copies, where the instruction allows it. */
	bool steps;
	bool has_stack;       /* a stack is recorded at each hit */
	const char *no_jumps; /* why no place gets a jump; NULL: they may */
	struct object_debug_options debug;
	/* Functions that patterns leave out: patterns, NULL-ended; or NULL. */
	const char *const *exclude;
	/* Which hits are told of; NULL: all. */
	const struct sample_text *sample;
	/* What is added has a handler (.is_there), which may change programs. */
	struct uprobe_handler handler;
	/* Where targets are sought: as the first of .pids that lives sees them; static probes and what IFUNCs
	 * were resolved to in all of them, or in the process of thread .tid. */
	const pid_t *pids;
	size_t n_pids;
	pid_t tid;  /* 0: none */
	pid_t view; /* ... or as this one sees them, if there are no .pids; 0: as we do */
	/* A warning, one line, on the thread that adds; and what is as it should be, but not known to the user. May be NULL. */
	void (*warn)(void *ctx, const char *text);
	void (*tell)(void *ctx, const char *text);
	void *warn_ctx; /* of both */
	/* Ends what takes long: see definitions_add(). May be NULL. */
	const struct ubp_until *until;
};

#endif
