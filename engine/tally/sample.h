/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Sampling (engine/base/sample_plan.h) from text: "N", each Nth hit, or "ARG:SIZE". ARG is an arg of the definition, by its name or as it
 * was written there; SIZE may have a unit, as numbers in filters.
 */

#ifndef UBP_TALLY_SAMPLE_H
#define UBP_TALLY_SAMPLE_H

#include "engine/base/sample_plan.h"

struct spec_probe;
struct ubp_err;

#define SAMPLE_ARG_MAX 63

struct sample_text {
	uint32_t every;
	char arg[SAMPLE_ARG_MAX + 1]; /* "": each Nth */
};

/* Returns 0 or -EINVAL. */
int sample_text_parse(const char *text, struct sample_text *ret_text, struct ubp_err *err);
/*
 * What it means for a probe; free with free(). @text NULL: *ret_plan is, too. -EINVAL: the probe has no such arg, or one that is no whole
 * number; -ENOMEM.
 */
int sample_text_bind(const struct sample_text *text, const struct spec_probe *spec,
		     struct sample_plan **ret_plan, struct ubp_err *err);

#endif
