/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What ubp_tally_take() hands out. */

#ifndef UBP_SESSION_TALLY_TAKEN_H
#define UBP_SESSION_TALLY_TAKEN_H

#include <stddef.h>
#include <stdint.h>

#include "engine/apart/wire.h"

struct session_tally;
struct tally;
struct ubp_tally_row;

/* What an engine that is apart has told. */
struct tally_copy {
	struct wire message; /* the rows' texts */
	struct ubp_tally_row *rows;
	size_t n;
	uint64_t hits, dropped;
};

struct ubp_tally {
	const struct session_tally *of;
	const struct tally *all; /* with what threads that have a ring have */
	struct tally *own;       /* NULL, or that */
	struct tally_copy *copy; /* in place of these; NULL: the session counts itself */
};

#endif
