/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The event that LTTng-UST records beside others: what the probes of ubp-bench fetch. */

#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ubp_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "cli/bench/ust/tracepoint.h"

#if !defined(UBP_CLI_BENCH_UST_TRACEPOINT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define UBP_CLI_BENCH_UST_TRACEPOINT_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(ubp_bench, hit,
	LTTNG_UST_TP_ARGS(long, a, const char *, s),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(long, a, a)
		lttng_ust_field_string(s, s)
	)
)
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
