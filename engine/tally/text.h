/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Plans from text, a part of the kernel's hist triggers:
 *
 *   hist:keys=KEY[,KEY[,KEY]][:vals=VAL[,VAL[,VAL[,VAL]]]][:size=N]
 *
 * KEY is an arg, or common_pid (the thread), common_cpu or cpu; extended: pid, tid, comm, event, function (that
 * the probe is in), stack or ustack (the user stack), argN (the Nth arg, whatever it is called). Behind an arg
 * .log2 or .buckets=N. VAL is hitcount, which is always there, or an arg, whose sum is meant; extended: ARG.min, ARG.max.
 */

#ifndef UBP_TALLY_TEXT_H
#define UBP_TALLY_TEXT_H

#include <stddef.h>

#include "engine/base/tally_plan.h"

struct spec_probe;
struct ubp_err;

#define TALLY_NAME_MAX 63

struct tally_text {
	unsigned n_keys, n_values;
	size_t size; /* 0: not given */
	struct tally_text_key {
		char name[TALLY_NAME_MAX + 1];
		char shown[TALLY_NAME_MAX + 1]; /* "": by .name; set by who binds it */
		enum tally_scale scale;
		uint64_t bucket;
	} keys[TALLY_KEYS];
	struct tally_text_value {
		char name[TALLY_NAME_MAX + 1];
		enum tally_kind kind;
	} values[TALLY_VALUES];
};

/* Returns 0 or -EINVAL. */
int tally_text_parse(const char *text, struct tally_text *ret_text, struct ubp_err *err);
/* What it means for a probe. -EINVAL: the probe has no such arg, or one that cannot be counted by. */
int tally_text_bind(const struct tally_text *text, const struct spec_probe *spec,
		    struct tally_plan *ret_plan, struct ubp_err *err);
/* The same of one value alone. */
int tally_text_bind_value(const struct tally_text_value *text, const struct spec_probe *spec,
			  struct tally_value *ret_value, struct ubp_err *err);

#endif
