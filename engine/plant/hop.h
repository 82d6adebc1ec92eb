/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hops (arch/detour.h): a site whose jump has no room leads to one, where a jump to its detour stands. It has
 * it for as long as it is probed. Nobody else comes there, so a hop is written before what leads to it, and taken out
 * after that, once nobody is about to come back to it from a signal handler.
 */

#ifndef UBP_PLANT_HOP_H
#define UBP_PLANT_HOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mem_view;
struct plant_space;
struct site;
struct site_jump;
struct space;

extern const char hop_why_none[];

/* Does the window of its probes, or of the ret that it is at, need one? */
bool hop_is_needed(const struct site *site);
/* Choose one for @site, unless it has one. False: others have them, or there is no fill any more. */
bool hop_choose(struct plant_space *ps, struct mem_view *view, struct site *site);

/* Does any stand yet? */
bool hop_any(const struct plant_space *ps);
/* The site that has a hop in [@vaddr, @vaddr + @len), or NULL. */
struct site *hop_near(const struct plant_space *ps, uint64_t vaddr, size_t len);

/* @site's is about to be written, jump->hop, for @jump: nobody leads there, or all that do lead there by this jump. 0 or -errno. */
int hop_begin(const struct space *space, struct site *site, const struct site_jump *jump);
/* Does it stand there? */
bool hop_stands(const struct space *space, const struct site *site,
		const struct site_jump *jump);

/* Fill again, in @space: the site's memory, or a copy of it. 0: nothing of ours stands there; or -errno. */
int hop_put_back(const struct space *space, pid_t tid, const struct site *site);
/* No jump leads there, and who does (.in_use) is known. 0: it is out, or somebody may come back to it; or -errno. */
int hop_take_out(const struct space *space, struct site *site);

#endif
