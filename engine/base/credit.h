/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What one process may cost the others again and again, as processor time of the tracing thread: all that it
 * likes up to a limit, and behind that a share of the time that passes. It waits itself until it has credit.
 */

#ifndef UBP_BASE_CREDIT_H
#define UBP_BASE_CREDIT_H

#include <stdint.h>

#define CREDIT_LIMIT_NS UINT64_C(1000000000)
#define CREDIT_SHARE    10 /* a tenth of the time */

/* All zero: nothing was spent. */
struct credit {
	uint64_t spent_ns; /* of the limit */
	uint64_t since_ns; /* when that was so */
};

/* How long from @now_ns, of a clock that never goes back, until something may be spent; 0: now. */
uint64_t credit_wait(struct credit *credit, uint64_t now_ns);
/* It was spent; it may have been more than there was, which takes the longer to come back. */
void credit_charge(struct credit *credit, uint64_t took_ns);

#endif
