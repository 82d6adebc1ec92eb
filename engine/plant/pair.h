/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Pairs of jumps that share bytes (struct jump_pair, arch/detour.h): where a branch leads to right behind a ret at which returns are caught, there is no room for a
 * jump. So what the branch leads to is moved: a site stands there, for the same probes, which is a jump to the copy of what it stands on, or nothing; it records
 * nothing, and has a breakpoint only while that jump is written or taken out. When it stands, the ret gets a punned jump, whose last bytes are the
 * first of that one. It is taken back before the other is. Both jumps lead to hops in a mirror (mirror.h) that is made for this.
 */

#ifndef UBP_PLANT_PAIR_H
#define UBP_PLANT_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held;
struct maps;
struct mem_view;
struct place;
struct plant_space;
struct site;
struct space;
struct ubp_err;
struct uprobe_exit;
struct window;

/* How many bytes the second jump, or the instructions under it, take. */
size_t pair_span(const struct uprobe_exit *e);
/* May a site for the second jump be at @vaddr, behind the ret of @e, or one that is there get one more probe? */
bool pair_fits(const struct space *space, struct mem_view *view, uint64_t vaddr,
	       const struct uprobe_exit *e);

/* Is @site a ret whose jump is to be the first of a pair? */
bool pair_has_first(const struct site *site);
/* Are the bytes behind @site that its jump is to have of the second one there, in memory? True of all that are no first of a pair. */
bool pair_stands(const struct space *space, const struct site *site);
/* Why the ret at @ret, whose jump may be the first of a pair, gets none yet, words that stay; or NULL. */
const char *pair_why_no_first(const struct plant_space *ps, const struct site *ret);

/* Why the second one, at @at, is not to be written, words that stay; or NULL. */
const char *pair_why_not(const struct plant_space *ps, const struct place *at);
/* The ret at @ret may get a jump by now: so may what is behind it. */
void pair_wake(const struct plant_space *ps, const struct site *ret);

/* Hops for the jump at @site, the second, and for that at its ret. *maps is as it is then. 0; or -errno: they have none, and the thread may have ended (-ESRCH). */
int pair_provide(const struct held *held, struct maps *maps, struct site *site);
/* What the second jump is to stand on, from memory. 0 or -errno. */
int pair_find(const struct space *space, struct mem_view *view, const struct site *site,
	      struct window *ret_window, struct ubp_err *err);

/* A jump was written at @site. If it is the second of a pair the first one may follow. */
void pair_note_written(const struct plant_space *ps, const struct site *site);

#endif
