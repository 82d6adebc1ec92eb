/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of the kernel in the program's own code that must be seen: of rt_sigaction(), ptrace(), exec. */

#ifndef UBP_PLANT_SIGACTION_H
#define UBP_PLANT_SIGACTION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/space/space.h"

struct mapping;
struct maps;
struct plant;
struct ubp_arch;

/*
 * The same for the program's own calls of rt_sigaction(): @watch is WATCH_SIGACTION; and for those
 * that have to do with tracing, and with execs: WATCH_CALLS.
 */
int sigaction_each(struct plant *plant, const struct ubp_arch *arch, pid_t pid,
		   const struct maps *maps,
		   int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			       enum site_watch watch),
		   void *ctx);
void sigaction_free(struct plant *plant);

/*
 * The first of such calls that is at or behind @at, up to @end: a sequence as @call is one, and how
 * far behind its start the instruction stands that gives way. NULL: none.
 */
const uint8_t *sigaction_find(const struct ubp_arch *arch, const uint8_t *call,
			      const uint8_t *at, const uint8_t *end, size_t *ret_more);

#endif
