/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/float.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/float_bits.h"
#include "engine/sink/buf.h"

bool sink_is_finite(uint64_t bits, size_t size)
{
	return isfinite(float_of_bits(bits, size));
}

/* What stands behind "nan": the fraction, the words it is made of each in full. */
static char *put_fraction(char *to, uint64_t bits, size_t size)
{
	int len = size == 4 ? sprintf(to, "(0x%x)", (uint32_t)bits & 0x7fffff)
			    : sprintf(to, "(0x%x%08x)", (uint32_t)(bits >> 32) & 0xfffff,
				      (uint32_t)bits);

	return to + len;
}

/* Whoever we work for may have set a locale: its decimal point becomes a point. */
static char *put_point(char *text, char *end)
{
	size_t digits = strspn(text, "-0123456789");
	char *point = text + digits, *rest = point;

	if (point == end || *point == '.' || *point == 'e')
		return end;
	while (rest < end && !(*rest >= '0' && *rest <= '9'))
		rest++;
	*point = '.';
	memmove(point + 1, rest, (size_t)(end - rest));
	return end - (rest - point - 1);
}

char *sink_put_float(char *to, uint64_t bits, size_t size)
{
	double value = float_of_bits(bits, size);

	if (isfinite(value)) {
		int len = snprintf(to, SINK_FLOAT_MAX, "%.*g", size == 4 ? 9 : 17, value);

		return put_point(to, to + len);
	}
	if (bits >> (8 * size - 1) & 1)
		*to++ = '-';
	to = sink_put_text(to, isinf(value) ? "inf" : "nan", 3);
	return isinf(value) ? to : put_fraction(to, bits, size);
}
