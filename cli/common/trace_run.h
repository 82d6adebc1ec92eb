/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A trace from planting to "Ending tracing...": the loop that waits for events,
 * signals, the time and the reader, and how it ends.
 */

#ifndef UBP_CLI_COMMON_TRACE_RUN_H
#define UBP_CLI_COMMON_TRACE_RUN_H

#include "cli/common/trace_options.h"

/*
 * Start @session, which has its definitions, print what comes, remove all probes.
 * Returns the exit status.
 */
int trace_run(struct ubp_session *session, const struct trace_options *options);

#endif
