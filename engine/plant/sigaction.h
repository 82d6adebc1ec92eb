/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of the kernel in the program's own code that must be seen: of rt_sigaction(), ptrace(), exec. */

#ifndef UBP_PLANT_SIGACTION_H
#define UBP_PLANT_SIGACTION_H

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

#endif
