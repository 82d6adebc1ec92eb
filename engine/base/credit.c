/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/credit.h"

uint64_t credit_wait(struct credit *credit, uint64_t now_ns)
{
	const uint64_t back = (now_ns - credit->since_ns) / CREDIT_SHARE;

	credit->spent_ns -= back < credit->spent_ns ? back : credit->spent_ns;
	credit->since_ns += back * CREDIT_SHARE; /* what is left over counts the next time */
	if (credit->spent_ns < CREDIT_LIMIT_NS)
		return 0;
	return (credit->spent_ns - CREDIT_LIMIT_NS + 1) * CREDIT_SHARE;
}

void credit_charge(struct credit *credit, uint64_t took_ns)
{
	credit->spent_ns += took_ns;
}
