/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Sums of registers as the extended grammar writes them: what sum.c reads. */

#ifndef UBP_SPEC_SUM_TEXT_H
#define UBP_SPEC_SUM_TEXT_H

#include <stdint.h>

struct spec_out;

/* "+8", "-8": a number with its sign, which no '-' of its own can have twice. */
void spec_out_signed(struct spec_out *out, int64_t n);

/*
 * "%di", "%di+%si*4-8". Names without '%', of which @base or @index may be NULL. The scale tells an
 * @index that stands alone from a plain register. Without @addend there is no number.
 */
void spec_out_sum(struct spec_out *out, const char *base, const char *index, unsigned scale,
		  int64_t addend);

#endif
