/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/sum_text.h"

#include <inttypes.h>

#include "engine/spec/out.h"

void spec_out_signed(struct spec_out *out, int64_t n)
{
	spec_out_add(out, "%c%" PRIu64, n < 0 ? '-' : '+', n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void spec_out_sum(struct spec_out *out, const char *base, const char *index, unsigned scale,
		  int64_t addend)
{
	if (base)
		spec_out_add(out, "%%%s", base);
	if (index)
		spec_out_add(out, "%s%%%s", base ? "+" : "", index);
	if (index && (scale != 1 || !base))
		spec_out_add(out, "*%u", scale);
	if (addend)
		spec_out_signed(out, addend);
}
