/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Changes of one probe, for tests of the engine's own way to make them (engine/session/live.h). */

#ifndef UBP_TESTS_UNIT_LIVE_ONE_H
#define UBP_TESTS_UNIT_LIVE_ONE_H

#include "engine/session/live.h"

static inline int live_add_one(struct ubp_session *s, const char *definition,
			       const char *filter, unsigned *ret_number, uint64_t *ret_ticket,
			       struct ubp_err *err)
{
	const struct live_new what = { .texts = &definition, .n_texts = 1, .filter = filter };
	unsigned n;

	return live_add(s, &what, ret_number, &n, ret_ticket, err);
}

static inline int live_remove_one(struct ubp_session *s, size_t number, uint64_t *ret_ticket,
				  struct ubp_err *err)
{
	return live_remove(s, &number, 1, ret_ticket, err);
}

#endif
