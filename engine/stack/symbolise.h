/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Addresses to names. For the thread that prints. */

#ifndef UBP_STACK_SYMBOLISE_H
#define UBP_STACK_SYMBOLISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/files/debug.h"
#include "engine/sink/frame.h"
#include "engine/stack/perf_map.h"

struct mapped_code;
struct mapping;
struct maps;
struct ubp_until;
struct object;
struct stack_maps_set;
struct ubp_err;

struct symboliser_options {
	struct stack_maps_set *maps;
	/* Its strings stay the caller's; where a file was left to a thread that goes on, as long as the process. */
	struct object_debug_options debug;
	/*
	 * Files that are open already, by what maps show of them (NULL: none such), or NULL: the
	 * process may have ended, and its file is deleted, or was in a root of its own.
	 */
	const struct object *(*known)(void *ctx, uint64_t dev, uint64_t ino);
	void *ctx;
	/* Asked while a file is read for names: when it is over, no file is read for names any more. The caller's. */
	const struct ubp_until *until;
	/* Told what is left out of a file, once for each. .warn may be NULL. */
	struct perf_map_warn warn;
	bool lines;  /* source lines and inlined functions, too (DWARF) */
	bool is_cfi; /* stacks have what a signal interrupted as an entry of its own */
};

/* Opaque: files that were met, opened once, in the root of the process they were met in. */
struct symboliser;

/* .maps stays the caller's. -ENOMEM. */
int symboliser_new(const struct symboliser_options *options, struct symboliser **ret_symboliser,
		   struct ubp_err *err);
void symboliser_free(struct symboliser *symboliser);
/* Keep nothing that points to mappings: some are about to be swept. */
void symboliser_forget(struct symboliser *symboliser);

/*
 * sink_resolver.resolve; @ctx is the symboliser. Of a call, an entry is the address behind
 * it: names and lines are those of the call itself, the offset is the entry's. Without
 * .function, .file and .file_vaddr tell where it is; .file may be "[vdso]" or "//anon", with
 * .file_vaddr 0.
 */
size_t symboliser_resolve(void *ctx, const struct event_record *record, size_t i,
			  struct sink_frame frames[SINK_FRAMES_MAX]);

/* What the file of @m says of itself, a mapping that process @pid has, or had, one of @maps: in *code, which stays as it is where the file is out of reach. */
void symboliser_identify(struct symboliser *symboliser, pid_t pid, const struct maps *maps,
			 const struct mapping *m, struct mapped_code *code);

#endif
