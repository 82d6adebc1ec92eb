/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Run-ups (arch/detour.h): where returns are caught at ret instructions, a site of its own stands at the start of each run-up, for the same
 * probes. It is a jump or nothing; a breakpoint stands there only while the jump is written or taken out, and its hits are nobody's. The ret
 * has its breakpoint all the time, and has all hits of those who do not come by that jump.
 */

/*
 * Where fill follows the ret, the jump stands on the ret itself, in place of its breakpoint, and there is no run-up: who comes to the ret
 * comes to the jump. Its site's exits (struct site_exit) are what it records.
 */

#ifndef UBP_PLANT_RUN_UP_H
#define UBP_PLANT_RUN_UP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"
#include "engine/space/space.h"

struct mem_view;
struct place;
struct plant;
struct ubp_err;
struct uprobe_exit;

/* Are there to be any in @space? */
bool run_ups_are_wanted(const struct plant *plant, const struct space *space);

/* May a site for the run-up to @ret, by @its_exit, be there, or one that is there get one more probe? */
bool run_up_fits(const struct space *space, struct mem_view *view, const struct site *ret,
		 const struct uprobe_exit *its_exit);

/* Something else is to stand at @site: it is no run-up any more. Its jump, which has other probes now, is for others to take back (renew.h). */
void run_up_give_way(struct site *site);

/* The site whose jump is for a run-up that @vaddr is in, or ends in; or that was one's, and is another's now. NULL: there is none. */
struct site *run_up_over(const struct plant_space *ps, uint64_t vaddr);

/* Why the run-up at @at gets no jump, words that stay; or NULL. */
const char *run_up_why_not(const struct plant_space *ps, const struct place *at);

/* Why entries and returns of the function of one ret at @site are caught by no jump; NULL: as far as these tell, they may be. */
const char *ends_at_ret_why_not(const struct site *site);

/* The same of a ret that is to get one itself. */
const char *at_ret_why_not(const struct plant_space *ps, const struct place *at);

/* A thread has stopped at @site, and was counted: is a jump to be tried there that was refused before? */
bool at_ret_becomes_hot(const struct plant_space *ps, const struct site *site);

/* What a detour for it is made of. */
struct run_up {
	struct window jumped;      /* what the jump stands on */
	struct window before, ret; /* .before: empty, if that is the ret */
	struct lead
		lead; /* what the ret does to the stack pointer, as detour_plan.run_up wants it */
};

/* Its .ret and .lead, of the ret. */
void run_up_take_ret(struct run_up *r, const struct displaced_insn *ret);

/* All of @site's, a run-up or a ret, from memory. 0 or -errno. */
int run_up_find(const struct space *space, struct mem_view *view, const struct site *site,
		struct run_up *ret_run_up, struct ubp_err *err);

#endif
