/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Lists of threads and processes that outlive them: who handles stops while it goes through all
 * of some goes by their ids. On the way out nothing may be passed over because memory is short,
 * so room for several such lists is had when a thread is taken up, and kept.
 */

#ifndef UBP_TRACE_IDS_H
#define UBP_TRACE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process;
struct space;
struct tracer;

/*
 * The ids of all threads in an address space, of @only's (NULL: of all); of all processes; of all threads. For
 * ids_give(). NULL: out of memory, which takes that IDS_LISTS are in use.
 */
pid_t *space_ids(struct tracer *tracer, const struct space *space, const struct process *only,
		 size_t *ret_n);
pid_t *tracer_pids(struct tracer *tracer, size_t *ret_n);
pid_t *tracer_tids(struct tracer *tracer, size_t *ret_n);
/* @ids may be NULL. */
void ids_give(struct tracer *tracer, pid_t *ids);

/* --- used by the files of this room ----------------------------------------- */

/* There is going to be one thread more. False: out of memory. */
bool ids_keep_room(struct tracer *tracer);
void ids_fini(struct tracer *tracer);

#endif
