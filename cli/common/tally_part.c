/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/tally_part.h"

#include <string.h>

bool tally_part_is_range(const struct ubp_tally_part *part)
{
	return part->kind == UBP_TALLY_LOG2 || part->kind == UBP_TALLY_BUCKETS;
}

bool tally_part_is_negative(const struct ubp_tally_part *part)
{
	return part->is_signed && (int64_t)ubp_tally_first(part) < 0;
}

struct tally_frames tally_part_frames(const struct ubp_tally_part *part)
{
	const char *text = part->text ? part->text : "[out of memory]";

	return (struct tally_frames){ text, strlen(text) };
}

bool tally_next_frame(struct tally_frames *rest, struct tally_frames *ret_frame)
{
	const char *colon = rest->len ? memrchr(rest->text, ';', rest->len) : NULL;
	size_t from = colon ? (size_t)(colon + 1 - rest->text) : 0;

	*ret_frame = (struct tally_frames){ rest->text + from, rest->len - from };
	if (!rest->len)
		return false;
	rest->len = from ? from - 1 : 0;
	return true;
}
