/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Copies of functions (arch/leaf.h): where returns are caught at rets, of which some have no room for a jump, the detour at the function's entry carries out a copy of the
 * function, and tells its returns, too (struct site_leaf). The rets have what they have otherwise, for those who come to them some other way. So
 * nobody has to be told apart: who carries out the copy never meets the function's own ret.
 *
 * What else is probed in the function would be passed by: it has no such copy then, and its jump is taken back before something comes there.
 */

#ifndef UBP_PLANT_LEAF_H
#define UBP_PLANT_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct added;
struct mem_view;
struct place;
struct plant_space;
struct run_up;
struct site;
struct sort_item;
struct space;

/* Whether the entry at @at gets one: its site->leaf is as that has to be. */
void leaf_choose(const struct plant_space *ps, const struct place *at);
/* Does the program's memory have what the file has of @site's? @view: of its code. If not it is refused. */
bool leaf_is_there(const struct space *space, struct mem_view *view, struct site *site);
/* A ret of it: what a detour for its returns is made of. */
bool leaf_take_ret(const struct plant_space *ps, const struct site *site, struct run_up *r);
/* Sites have other probes than before: jumps that are to have another copy, or none, or one now, are outdated. True: some are. */
bool leaf_settle(const struct plant_space *ps);

/* Those that there are, to be asked for many places: sites whose jump has one, by their places. */
struct leaves {
	struct sort_item *v; /* .key: the site's vaddr */
	size_t n;
	uint32_t len; /* of the longest */
};

/* Returns 0 or -ENOMEM. *ret_leaves goes with leaves_free(). */
int leaf_look(const struct plant_space *ps, struct leaves *ret_leaves);
void leaves_free(struct leaves *leaves);
/* The site whose jump's copy @added would be passed by in. NULL: none is. */
struct site *leaf_over(const struct leaves *leaves, const struct added *added);

#endif
