/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a part of a row's key means: ranges of histograms, functions of stacks. */

#ifndef UBP_CLI_COMMON_TALLY_PART_H
#define UBP_CLI_COMMON_TALLY_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/ubp_tally.h"

/* Does it stand for a range of values? */
bool tally_part_is_range(const struct ubp_tally_part *part);
/* A range: of values that are less than 0? */
bool tally_part_is_negative(const struct ubp_tally_part *part);

/* Functions of a stack, that are not told yet; or one of them. Not NUL-ended. */
struct tally_frames {
	const char *text;
	size_t len;
};

struct tally_frames tally_part_frames(const struct ubp_tally_part *part);
/* The innermost one of @rest, which is told then. False: there are no more. */
bool tally_next_frame(struct tally_frames *rest, struct tally_frames *ret_frame);

#endif
