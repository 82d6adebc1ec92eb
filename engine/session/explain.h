/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* For lists: how places of a file could be probed. */

#ifndef UBP_SESSION_EXPLAIN_H
#define UBP_SESSION_EXPLAIN_H

#include <stdint.h>

#include "engine/base/err.h"

struct object_symbol;
struct session_file;
struct ubp_session;
struct ubp_target;

/* Zero-initialise. */
struct explaining {
	struct ubp_session *session; /* never started: it knows what can be probed */
	struct session_file *file;
	char *path;
	char text[UBP_ERR_TEXT_MAX + 16];
};

/* About the file @name, looked up as @target says. End it in any case. */
int explaining_begin(const struct ubp_target *target, const char *name,
		     struct explaining *ret_explaining, struct ubp_err *err);
/*
 * "jump", "breakpoint: WHY", "refused: WHY": of the place at @foffset, the start of function
 * @symbol, or in the middle of one (NULL). Good until the next call.
 */
const char *explaining_text(struct explaining *x, uint64_t foffset,
			    const struct object_symbol *symbol);
void explaining_end(struct explaining *x);

#endif
