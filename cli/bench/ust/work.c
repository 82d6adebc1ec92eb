/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The program that ubp-bench measures under LTTng-UST, whose events are compiled into it. Made where liblttng-ust-dev is there. */

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "cli/bench/ust/tracepoint.h"

#include <stddef.h>

#include "cli/bench/work.h"

static long bench_ust(long a, const char *s)
{
	lttng_ust_tracepoint(ubp_bench, hit, a, s);
	return a + 1;
}

const struct bench_first bench_firsts[] = {
	{ "ust", bench_ust, true },
	{ NULL, NULL, false },
};

int main(int argc, char **argv)
{
	return bench_work_main(argc, argv);
}
