/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is said to be traced. */

#ifndef UBP_CLI_COMMON_BANNER_H
#define UBP_CLI_COMMON_BANNER_H

#include <stdbool.h>

struct ubp_session;

/*
 * "p:NAME /path:0xOFF ARGS", what perf-tools says it traces, from the line that
 * uprobe_events would list. Allocated; NULL: out of memory.
 */
char *banner_probe(const char *listing);
/* Is there one event alone, though it may have several places? */
bool banner_is_one_event(struct ubp_session *session);

#endif
