/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions of the process on which breakpoints of our own must stand: the loader's, unwinders', exec. */

#ifndef UBP_PLANT_HOOKS_H
#define UBP_PLANT_HOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping;
struct file_cost;
struct maps;
struct plant;
struct return_facts;

/*
 * All of these read files that the process maps, on its account @cost (engine/base/file_cost.h): where the limit is
 * reached, its .is_late tells that what they say is not all.
 */

/*
 * Call @each for the functions of the process on which breakpoints of our own
 * must stand. @has_returns: unwinders are among them without a return probe, too.
 * Stops when it returns non-zero and returns that; or -ENOMEM; -ETIME: the limit is reached.
 */
int hooks_each(struct plant *plant, struct file_cost *cost, pid_t pid, const struct maps *maps,
	       bool has_returns,
	       int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			   unsigned watches),
	       void *ctx);

/* Does the process map code that the Go compiler made? */
bool hooks_is_go(struct plant *plant, struct file_cost *cost, pid_t pid,
		 const struct maps *maps);
/*
 * Bytes behind the code of the file in @m that nothing uses, by the file: in memory they may be in use by now.
 * False: there are none, or the file could not be read.
 */
bool hooks_unused_bytes(struct plant *plant, struct file_cost *cost, pid_t pid,
			const struct mapping *m, uint64_t *ret_vaddr, uint64_t *ret_len);
void hooks_free(struct plant *plant);

/* What can be told of a process beyond @probe's own file. */
void hooks_return_facts(struct plant *plant, struct file_cost *cost, pid_t pid,
			const struct maps *maps, struct return_facts *ret_facts);

#endif
