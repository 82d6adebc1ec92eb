/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: a heap profile. Some probes' hits allocate a block of memory, others' free one; these hits are no events, and by
 * stacks it is told what was allocated, and what of it lives. With ubp_options.sample hits that allocate are sampled, and bytes are weights.
 *
 *	ubp_add(session, "r:libc:malloc p=$retval:u64 size=-8($retval):u64", NULL, &err);
 *	ubp_heap_allocates(session, 0, "p:size", &err);
 *	ubp_sample_next(session, false);
 *	ubp_add(session, "p:libc:free p=%di:u64", NULL, &err);
 *	ubp_heap_frees(session, 1, "p", &err);
 *	... ubp_start(), ubp_dispatch(), ubp_stop() ...
 *	for (size_t i = 0; i < ubp_heap_n(session); i++)
 *		ubp_heap_row(session, i, &row);
 */

#ifndef UBP_HEAP_H
#define UBP_HEAP_H

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ubp_heap_row {
	const char *
		stack; /* "comm;main;load;malloc", as --folded has it; belongs to the session */
	uint64_t live, allocated; /* bytes: of blocks that live, of all */
	uint64_t n_live,
		n_allocated; /* hits that allocated, with sampling those that were told of */
};

/*
 * What probe @i does, before ubp_start(). @text: the argument that is the address of the block, 0 of none; who allocates has behind it, after a colon,
 * the argument that says how many bytes it has: else each has 1, or its weight. Stacks must be recorded (ubp_options.stack); of those who free none
 * are. Errors: -EINVAL (no such argument, or no whole number; no stacks), -EBUSY, -ENOMEM.
 */
int ubp_heap_allocates(struct ubp_session *session, size_t i, const char *text,
		       struct ubp_err *err);
int ubp_heap_frees(struct ubp_session *session, size_t i, const char *text,
		   struct ubp_err *err);

/* Stacks that have allocated, in no order that means something; what was dispatched is in it. */
size_t ubp_heap_n(const struct ubp_session *session);
void ubp_heap_row(const struct ubp_session *session, size_t i, struct ubp_heap_row *ret_row);
/* Was memory short for some of it? */
bool ubp_heap_is_short(const struct ubp_session *session);
/* A row as a JSON object and a newline. Belongs to the session, until its next text. NULL: out of memory. */
const char *ubp_heap_json(struct ubp_session *session, const struct ubp_heap_row *row,
			  size_t *ret_len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
