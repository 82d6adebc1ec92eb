/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One probe: can its place be probed? */

#ifndef UBP_DEFINE_CHECK_H
#define UBP_DEFINE_CHECK_H

#include "engine/define/state.h"

/* Which of its checks a place did not pass. */
enum place_refusal {
	REFUSED_PLACE,
	REFUSED_RETURN,
	REFUSED_SPAWN,
	REFUSED_BOUNDARY,
	REFUSED_INSN,
	REFUSED_EXITS,
	REFUSED_DURATION,
	REFUSED_IFUNC, /* match.c */
	REFUSED_N,
};

/* Can programs of its instruction set be traced here, or is that not the question? -ENOTSUP: no. */
int check_arch(const struct definitions *defs, const struct definition_file *file,
	       const char *path, struct ubp_err *err);
/*
 * Can it be probed? @spec is resolved; @p, of check_new_probe(), gets what is known of the place then.
 * *ret_why is good if not.
 */
int check_probe(struct definitions *defs, const struct spec_probe *spec,
		struct definition_file *file, struct defined_probe *p,
		enum place_refusal *ret_why, struct ubp_err *err);
/* @p has passed that: it is kept for check_take(), which takes over. What does not fit is freed. */
void check_keep(struct definitions *defs, struct definition_file *file, uint64_t foffset,
		struct defined_probe *p);
/* One that has passed it for this, or NULL: it is to be looked at. */
struct defined_probe *check_take(struct definitions *defs, const struct spec_probe *spec,
				 const struct definition_file *file);
void check_forget(struct definitions *defs);
/* Where the function of @probe is left, which takes time for a long one: definitions_find_exits(). */
void check_find_exits(struct uprobe *probe);
/* With a probe of its own. NULL: out of memory. */
struct defined_probe *check_new_probe(void);
void check_free_probe(struct defined_probe *p);

#endif
