/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which variable a name means at a place. */

#ifndef UBP_DWARF_LOOKUP_H
#define UBP_DWARF_LOOKUP_H

#include "engine/dwarf/die.h"
#include "engine/dwarf/location.h"

#define SCOPES_MAX DW_DEPTH_MAX

struct lookup {
	struct dwarf *d;
	const struct dwarf_place *place;
	struct location_at at;
	Dwarf_Die scopes[SCOPES_MAX]; /* innermost first, the unit last */
	size_t n_scopes;
};

/* -ENOENT: nothing is known of the code at @place. */
int lookup_init(struct lookup *lookup, struct dwarf *d, const struct dwarf_place *place,
		struct ubp_err *err);

/*
 * The variable that @name (@len bytes, may be "ns::x") means: of the blocks inside each other,
 * their function, its object (*ret_is_member: @ret_die is then "this"), namespaces, unit; of the
 * functions that an inlined copy is in; of other units. -ENOENT with near names.
 */
int lookup_variable(struct lookup *lookup, const char *name, size_t len, Dwarf_Die *ret_die,
		    bool *ret_is_member, struct ubp_err *err);

/* The variable that @member, a static one, is a declaration of. False: none. */
bool lookup_static(struct lookup *lookup, Dwarf_Die *member, Dwarf_Die *ret_die);

/*
 * Variables of the innermost function, blocks inside first; those that a name is hidden by, too. Stops
 * when @each returns non-zero, and returns that.
 */
int lookup_each(struct lookup *lookup, int (*each)(void *ctx, Dwarf_Die *variable), void *ctx);

#endif
