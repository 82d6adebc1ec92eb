/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/unit.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* Three digits that count, and a unit. */
static void scaled(char *text, double value, double step, const char *const *units, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && value >= step) {
		value /= step;
		i++;
	}
	if (i == 0)
		(void)snprintf(text, UNIT_TEXT_MAX, "%.0f%s", value, units[i]);
	else
		(void)snprintf(text, UNIT_TEXT_MAX, "%.*f%s",
			       value < 10    ? 2
			       : value < 100 ? 1
					     : 0,
			       value, units[i]);
}

void unit_text(char *text, uint64_t number, bool is_signed, enum unit unit)
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const sizes[] = { "", "KiB", "MiB", "GiB", "TiB" };

	if (unit == UNIT_NS)
		scaled(text, (double)number, 1000, times, 4);
	else if (unit == UNIT_BYTES && !(is_signed && (int64_t)number < 0))
		scaled(text, (double)number, 1024, sizes, 5);
	else if (is_signed)
		(void)snprintf(text, UNIT_TEXT_MAX, "%" PRId64, (int64_t)number);
	else
		(void)snprintf(text, UNIT_TEXT_MAX, "%" PRIu64, number);
}
