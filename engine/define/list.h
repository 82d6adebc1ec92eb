/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What there is in files that can be probed, in the forms of the public functions of these names (engine/ubp_files.h). What @each
 * returns, if not 0, ends the listing and is returned.
 */

#ifndef UBP_DEFINE_LIST_H
#define UBP_DEFINE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct define_target;
struct object;
struct object_note;
struct ubp_err;

/* @how: how it can be probed, if @target asks for that; or NULL. */
int define_list_functions(const struct define_target *target,
			  int (*each)(void *ctx, const char *name, uint64_t offset,
				      const char *how),
			  void *ctx, struct ubp_err *err);
/* By debug information, on a thread of its own. */
int define_list_lines(const struct define_target *target, const char *function,
		      int (*each)(void *ctx, const char *line), void *ctx, struct ubp_err *err);
int define_list_variables(const struct define_target *target, const char *place,
			  int (*each)(void *ctx, const char *line), void *ctx,
			  struct ubp_err *err);

/* A location of a static probe. */
struct listed_usdt {
	const char *path;
	struct object *object;
	const struct object_note *note;
	uint64_t foffset; /* of the location; UINT64_MAX: none */
	size_t n_args;
	const char *how;
};

int define_list_usdt(const struct define_target *target,
		     int (*each)(void *ctx, const struct listed_usdt *usdt), void *ctx,
		     struct ubp_err *err);
/* Argument @i of a static probe, in words. False: there is none, or nobody can read it: @text says why. */
bool define_usdt_arg(struct object *object, const struct object_note *note, size_t i,
		     char *text, size_t size);

#endif
