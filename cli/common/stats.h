/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a trace came to: the lines of --stats. */

#ifndef UBP_CLI_COMMON_STATS_H
#define UBP_CLI_COMMON_STATS_H

#include <stdint.h>

struct ubp_session;

/* A line about processes that were missed, if there were any. */
void cli_tell_missed(const struct ubp_session *session);

/*
 * On standard error, a line for each probe and one for the session:
 *   NAME: stats: PATH GROUP/EVENT hits=N passed=N ...
 *   NAME: stats: processes=N skipped=N ... finder="TEXT" ...
 * What each number is, and which are there when, is in uprobe(1), STATISTICS.
 * @n_dropped: events that the command itself did not print.
 */
void cli_print_stats(struct ubp_session *session, uint64_t n_dropped);

/* --once: of the places in each file, how many were hit. */
void cli_tell_once(struct ubp_session *session);

#endif
