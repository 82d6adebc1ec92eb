/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Variables become fetch args: what is made of one definition at one place, for the files of this room. */

#ifndef UBP_DEFINE_MAKING_H
#define UBP_DEFINE_MAKING_H

#include "engine/define/expand.h"

struct making {
	struct dwarf *dwarf;
	const struct expand_definition *d;
	const struct dwarf_place *place;
	struct expand_args *args;
	struct expand_left_out *left_out;
	struct ubp_err *err;
};

/* -ENOMEM, with a text. */
int making_no_memory(struct ubp_err *err);
/* @text, allocated, becomes the args'; NULL: out of memory. */
const char *making_keep(struct expand_args *args, char *text);
const char *making_copy(struct making *m, struct spec_span text);
/* Where @s stands in the definition. */
unsigned making_col(const struct making *m, const char *s);

/* The last name in "buf->req.name[2]", "&ns::x": the one of the value. */
struct spec_span making_last_name(struct spec_span expr);
/* A name of its own, not longer than they may be. NULL: out of memory. */
const char *making_name(struct making *m, struct spec_span wanted);
/* "EXPR:TYPE". NULL: out of memory. */
const char *making_text(struct making *m, const struct dwarf_value *value);
/* One arg more. Without a name or a text there was no memory for them. Returns 0 or -ENOMEM. */
int making_add(struct making *m, const struct plain_arg *arg);

/* What @name is has no arg, for @why: it is told once. Returns 0 or -ENOMEM. */
int making_leave_out(struct making *m, const char *name, const char *why);

#endif
