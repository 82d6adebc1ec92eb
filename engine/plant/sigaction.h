/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of the kernel in the program's own code that must be seen: of rt_sigaction(), ptrace(), exec. */

#ifndef UBP_PLANT_SIGACTION_H
#define UBP_PLANT_SIGACTION_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/space/space.h"

struct file_cost;
struct mapping;
struct maps;
struct plant;
struct ubp_arch;

/*
 * @each for every call of rt_sigaction() in the program's own code, with WATCH_SIGACTION, and for those that have to do
 * with tracing and with execs, with one of WATCH_CALLS. Returns 0; -ENOMEM; -EINTR, the session ends; -ETIME, the limit
 * of @cost is reached, the account of the process; or what @each returns, if that is not 0: then it was the last.
 */
int sigaction_each(struct plant *plant, const struct ubp_arch *arch, struct file_cost *cost,
		   pid_t pid, const struct maps *maps,
		   int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			       unsigned watches),
		   void *ctx);
/*
 * Why it could not be seen that the process sets a filter for calls of the kernel, words that stay; NULL: there are bells in front of all such
 * calls. @loader: its mapping of the loader, or NULL. @stands: is there one?
 */
const char *sigaction_why_filters(struct plant *plant, const struct ubp_arch *arch,
				  struct file_cost *cost, pid_t pid, const struct maps *maps,
				  const struct mapping *loader,
				  bool (*stands)(void *ctx, uint64_t vaddr), void *ctx);
void sigaction_free(struct plant *plant);

#endif
