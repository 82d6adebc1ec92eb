/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where in a file's code somebody may land who does not come from the instruction
 * before: targets of branches, of pointers and of jump tables, symbols, starts of functions, handlers of
 * exceptions. Found without decoding, by looking at every byte, so there are more of them here
 * than in truth; but for branches with a displacement of one byte, which would be
 * too many: window.c looks for those.
 */

#ifndef UBP_CODE_LANDINGS_H
#define UBP_CODE_LANDINGS_H

struct landings;
struct object;
struct ubp_err;

/*
 * Those of @object (landing_set.h), found on first use: some milliseconds for each megabyte. Owned by the object, which may share
 * them with others of the same file; from any thread. Returns 0 or -errno: -ENOMEM, -EIO, -EFBIG, -ENOTSUP (no decoder).
 */
int landings_get(struct object *object, const struct landings **ret_landings,
		 struct ubp_err *err);

/* Into @landings, which is new. The same errors. */
int landings_find(struct object *object, struct landings *landings, struct ubp_err *err);

#endif
